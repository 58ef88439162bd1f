// Servers that users' tests start.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { connect } from "node:net";
import { test } from "node:test";

import { Redis } from "ioredis";

import { Limiter, StintError, failClosed, perDay } from "@stintdb/client";
import { startServer } from "@stintdb/client/testing";
import { binary } from "./server.mjs";

const isListening = (port) => new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => { socket.destroy(); resolve(true); }).on("error", () => { resolve(false); });
});

test("a server for a test", async (t) => {
    const server = await startServer({ binary: binary() });
    const application = new Redis(server.url, { lazyConnect: true }), limiter = new Limiter(application, { whenDown: failClosed(), timeout: "1m" });
    t.after(() => { limiter.close(); application.disconnect(); });
    const { allowed, source } = await limiter.allow("k", perDay(1));
    assert.ok(allowed && source === "server");
    await server[Symbol.asyncDispose]();
    assert.equal(await isListening(server.port), false);
    await server.stop(); // again
});

test("a server that a program forgets ends with it", { timeout: 60_000 }, async () => {
    const program = 'import { startServer } from "@stintdb/client/testing"; console.log((await startServer()).port);';
    const output = execFileSync("node", ["--input-type=module", "-e", program],
        { cwd: new URL("..", import.meta.url), encoding: "utf8", env: { ...process.env, STINTTEST_BINARY: binary() }, timeout: 60_000 });
    assert.match(output, /^\d+\n$/);
    while (await isListening(Number(output))) { await new Promise((resolve) => setTimeout(resolve, 5)); }
});

test("nothing to start", async () => {
    await assert.rejects(startServer({ binary: "/nowhere/stint" }), (error) => {
        assert.ok(error instanceof StintError);
        assert.match(error.message, /no server to start: .*\/nowhere\/stint.*; set STINTTEST_BINARY to its path/);
        return true;
    });
    await assert.rejects(startServer({ binary: binary(), flags: ["--nonsense"] }), / ended:\n[^]*nonsense/);
});
