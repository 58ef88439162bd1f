// The first calls of a limiter, and of a process: connecting does not use up their deadline.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { connect, createServer } from "node:net";
import { test } from "node:test";

import { Redis } from "ioredis";
import { createClient } from "redis";

import { Limiter, failOpen } from "@stintdb/client";
import { FakeDriver, forever } from "./fake-driver.mjs";
import { nowhere, startServer } from "./server.mjs";

const clients = {
    ioredis: (port) => { const client = new Redis(port, { lazyConnect: true }); return [client, () => { client.disconnect(); }]; },
    "node-redis": (port) => [createClient({ socket: { port } }), () => undefined],
};

/** A port whose connections reach another port after so many milliseconds. */
async function slowly(t, port, ms) {
    const proxy = createServer((socket) => {
        socket.on("error", () => undefined);
        setTimeout(() => {
            const server = connect(port, "127.0.0.1").on("error", () => undefined);
            socket.pipe(server).pipe(socket);
        }, ms);
    });
    await new Promise((resolve) => { proxy.listen(0, "127.0.0.1", resolve); });
    t.after(() => { proxy.close(); });
    return proxy.address().port;
}

for (const [name, open] of Object.entries(clients)) {
    test(`calls while ${name} connects`, async (t) => {
        const server = await startServer();
        t.after(() => server.kill());
        const [client, close] = open(await slowly(t, server.port, 100));
        const limiter = new Limiter(client, { whenDown: failOpen(), timeout: 50, connectTimeout: "1m" });
        t.after(() => { limiter.close(); close(); });
        const results = await Promise.all(Array.from({ length: 10 }, () => limiter.allow("k", "100/m")));
        assert.deepEqual(results.map(({ source }) => source), Array(10).fill("server"));
    });
}

test("a server that never answers", async () => {
    const limiter = new Limiter(new FakeDriver(forever), { whenDown: failOpen() });
    const first = await Promise.all([limiter.allow("k", "1/s"), limiter.allow("k", "1/s")]);
    assert.match(first[0].cause.message, /^no reply within 1000 ms/);
    assert.equal(first[1].source, "fallback");
    assert.match((await limiter.allow("k", "1/s")).cause.message, /^no reply within 20 ms/);
    limiter.close();
});

const program = `
import { Redis } from "ioredis";
import { Limiter, failOpen } from "@stintdb/client";
const limiter = new Limiter(new Redis(Number(process.argv[1]), { lazyConnect: true }), { whenDown: failOpen(), connectTimeout: "1m" });
for (let i = 0; i < Number(process.argv[2]); i++) { console.log((await limiter.allow("k", "100/m")).source); }
process.exit();
`;

/** The sources of the first calls of a new process, and its standard error. */
function callsOf(port, calls) {
    const { stdout, stderr, status } = spawnSync("node", ["--input-type=module", "-e", program, String(port), String(calls)],
        { cwd: new URL("..", import.meta.url), encoding: "utf8", timeout: 120_000 });
    assert.equal(status, 0, stderr);
    return { sources: stdout.trim().split("\n"), stderr };
}

test("the first call of a process", async (t) => {
    const server = await startServer();
    t.after(() => server.kill());
    for (let i = 0; i < 3; i++) {
        assert.deepEqual(callsOf(server.port, 1), { sources: ["server"], stderr: "" });
    }
});

test("the first fallback of a process", () => {
    const { sources, stderr } = callsOf(nowhere, 3);
    assert.deepEqual(sources, Array(3).fill("fallback"));
    assert.equal(stderr.match(/Stint did not decide a request, so the fallback did: .*ECONNREFUSED/g)?.length, 1, stderr);
});
