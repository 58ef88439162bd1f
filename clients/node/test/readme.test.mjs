import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { startServer } from "./server.mjs";

test("the program of the README", async () => {
    const server = await startServer();
    try {
        const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");
        const program = /```js\n([^]*?)```/.exec(readme)[1];
        assert.match(program, /new Redis\(6379\)/);
        const patient = program.replace("6379", String(server.port)).replace("failOpen() }", "failOpen(), timeout: 10_000 }");
        const output = execFileSync("node", ["--input-type=module", "-e", patient], { cwd: new URL("..", import.meta.url), encoding: "utf8", timeout: 60_000 });
        assert.equal(output, "true 19\n");
    } finally {
        await server.kill();
    }
});
