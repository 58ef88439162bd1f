// Runs the programs of docs/migrate/libraries.md: a library's, and the one in its place.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { start, threeStatuses } from "./programs.mjs";
import { startServer } from "./server.mjs";

const page = readFileSync(new URL("../../../docs/migrate/libraries.md", import.meta.url), "utf8");
const programs = [...page.matchAll(/^```js ([\w-]+) (before|after)\n([^]*?)^```/gm)];
const outputs = { bottleneck: "1\n2\n3\n" };

test("there are two programs for each library", () => {
    const libraries = ["express-rate-limit", "rate-limiter-flexible", "upstash", "bottleneck"];
    assert.deepEqual(programs.map(([, library, when]) => `${library} ${when}`), libraries.flatMap((library) => [`${library} before`, `${library} after`]));
});

for (const [, library, when, source] of programs) {
    test(`${library}, ${when}`, async () => {
        const server = await startServer(...(library === "upstash" ? ["--http-listen", "127.0.0.1:0", "--requirepass", "secret"] : []));
        try {
            const program = source.replace("6379", String(server.port)).replace("8080", () => String(server.httpPort));
            if (program.includes("3000")) {
                assert.deepEqual(await threeStatuses(program), [200, 200, 429]);
            } else {
                const { child, ended } = start(program);
                assert.equal(await ended, outputs[library] ?? "true\ntrue\nfalse\n");
                assert.equal(child.exitCode, 0);
            }
        } finally {
            await server.kill();
        }
    });
}
