// Waiting for a place of a concurrency limit, on a server and without one.
import assert from "node:assert/strict";
import { after, test } from "node:test";

import { Redis } from "ioredis";
import { createClient } from "redis";

import { ClosedError, DeniedError, InvalidError, Limit, Limiter, failClosed, failOpen, perSecond } from "../dist/esm/index.js";
import { FakeLimiter } from "../dist/esm/testing/index.js";
import { nowhere, startServer } from "./server.mjs";

const server = await startServer();
const redis = new Redis({ port: server.port, lazyConnect: true });
const applications = { ioredis: redis, "node-redis": createClient({ socket: { port: server.port, host: "127.0.0.1" } }) };
const limiters = [];
after(async () => {
    limiters.forEach((limiter) => { limiter.close(); });
    redis.disconnect();
    await server.kill();
});

function connect(application = redis, whenDown = failClosed()) {
    const limiter = new Limiter(application, { whenDown, timeout: "30s", onBreaker: () => {} });
    limiters.push(limiter);
    return limiter;
}

const gpu = (holder) => Limit.concurrency(1, "1h", holder);
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Waits until so many clients wait for a place. */
async function waiting(n) {
    while (!(await redis.info("clients")).includes(`blocked_clients:${n}\r\n`)) { await pause(2); }
}

for (const [name, application] of Object.entries(applications)) {
    test(`a release wakes the most urgent caller (${name})`, async () => {
        const limiter = connect(application), got = [];
        assert.ok((await limiter.wait(name, gpu("first"))).allowed);
        const waits = [];
        for (const [holder, priority] of [["calm", 1], ["usual"], ["urgent", 9]]) {
            waits.push(limiter.wait(name, gpu(holder), priority === undefined ? {} : { priority }).then(() => got.push(holder)));
            await waiting(waits.length);
        }
        assert.ok((await limiter.allow(`another ${name}`, perSecond(1))).allowed); // nothing else is held back
        for (const holder of ["first", "urgent", "usual", "calm"]) {
            assert.ok(await limiter.release(name, holder));
            while (got.length < Math.min(3, ["first", "urgent", "usual", "calm"].indexOf(holder) + 1)) { await pause(2); }
        }
        assert.deepEqual(got, ["urgent", "usual", "calm"]);
        await Promise.all(waits);
        await waiting(0);
    });
}

test("a caller who leaves is not given a place", async () => {
    const limiter = connect(), stop = new AbortController();
    await limiter.wait("left", gpu("first"));
    const left = limiter.wait("left", gpu("left"), { signal: stop.signal });
    await waiting(1);
    const next = limiter.wait("left", gpu("next"));
    await waiting(2);
    stop.abort(new Error("stopped"));
    await assert.rejects(left, /stopped/);
    await waiting(1);
    await limiter.release("left", "first");
    assert.ok((await next).allowed);
    assert.equal(await limiter.release("left", "left"), false);
});

test("the end of a wait", async () => {
    const limiter = connect(), other = connect();
    await limiter.wait("end", gpu("first"));
    await assert.rejects(limiter.wait("end", gpu("second"), { atMost: 30 }), DeniedError);
    const closed = other.wait("end", gpu("third"));
    await waiting(1);
    other.close();
    await assert.rejects(closed, ClosedError);
    await waiting(0);
    assert.ok((await limiter.wait("end", gpu("first"))).allowed); // a renewal
});

test("a connection that breaks does not end the wait", async () => {
    const limiter = connect();
    await limiter.wait("broken", gpu("first"));
    const next = limiter.wait("broken", gpu("next"));
    await waiting(1);
    await redis.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
    while (!(await limiter.release("broken", "first").catch(() => false))) { await pause(5); }
    assert.ok((await next).allowed);
});

test("without Stint, the fallback decides", async () => {
    const application = new Redis(nowhere, { lazyConnect: true });
    const make = (whenDown) => { const limiter = new Limiter(application, { whenDown, onBreaker: () => {} }); limiters.push(limiter); return limiter; };
    await assert.rejects(make(failClosed()).wait("k", gpu("me")), DeniedError);
    assert.equal((await make(failOpen()).wait("k", gpu("me"))).source, "fallback");
    application.disconnect();
});

test("wrong priorities, and a fake", async () => {
    const limiter = new FakeLimiter();
    for (const priority of [-1, 10, 1.5, "5"]) { await assert.rejects(limiter.wait("k", gpu("me"), { priority }), InvalidError); }
    await assert.rejects(limiter.wait("k", "5/s", { priority: 5 }), InvalidError);
    assert.ok((await limiter.wait("k", gpu("me"), { priority: 9 })).allowed);
});
