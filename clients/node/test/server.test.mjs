import assert from "node:assert/strict";
import { after, test } from "node:test";

import { Redis } from "ioredis";
import { createClient } from "redis";

import { DeniedError, InvalidError, Limit, Limiter, RefusedError, failClosed, failOpen, perHour } from "../dist/esm/index.js";
import { startServer } from "./server.mjs";

const server = await startServer();
const applications = [];
after(async () => {
    for (const client of applications) {
        if ("isOpen" in client) { client.destroy(); } else { client.disconnect(); }
    }
    await server.kill();
});

const clients = {
    ioredis: () => {
        const client = new Redis({ port: server.port, lazyConnect: true });
        client.on("error", () => undefined);
        return client;
    },
    "node-redis": () => createClient({ socket: { port: server.port, host: "127.0.0.1" } }),
};

/** Waits until the limiter is connected. */
async function connected(limiter) {
    while ((await limiter.peek("connected", "1/s")).source !== "server") {
        await new Promise((resolve) => setTimeout(resolve, 5));
    }
}

test("a plan with credits", async () => { // docs/recipes/credits.md
    const limiter = new Limiter(clients.ioredis(), { whenDown: failClosed(), timeout: 30_000 }), key = "credits";
    const expires = new Date(Math.ceil(Date.now() / 1000) * 1000 + 3_600_000);
    assert.equal(await limiter.credits(key), null);
    for (let i = 0; i < 2; i++) { // the second webhook of a payment
        assert.equal(await limiter.addCredits(key, { id: "payment:81", credits: 1000 }), 1000);
    }
    assert.equal(await limiter.addCredits(key, { id: "gift:1", credits: 50, expires }), 1050);
    const plan = [{ key: "hours", limit: "FW 100 1h" }, { key, limit: Limit.balance(), orElse: true }];
    const granted = (result) => result.limits.map((state) => state.granted);
    assert.deepEqual(granted(await limiter.all(plan, { tokens: 130, id: "plan:1", remember: "10m", split: true })), [100, 30]);
    assert.deepEqual(granted(await limiter.extend("plan:1", 1, 10, { split: true })), [100, 40]);
    assert.deepEqual((await limiter.settle("plan:1", 120)).map((charge) => charge.charged), [100, 20]);
    assert.deepEqual(await limiter.credits(key), { balance: 1030, grants: [{ left: 30, expires }, { left: 1000, expires: null }] });
    const wait = await limiter.all(plan, { tokens: 1100 }), payment = await limiter.all(plan, { tokens: 1200 });
    assert.ok(!wait.allowed && !wait.needsPayment && wait.retryAfter > 0);
    assert.ok(!payment.allowed && payment.needsPayment && payment.retryAfter === -1);
    await assert.rejects(limiter.wait(key, "BAL", { tokens: 1031 }), DeniedError);
    limiter.close();
});

test("options of limits", async () => {
    const limiter = new Limiter(clients.ioredis(), { whenDown: failClosed(), timeout: 30_000 }), leases = limiter.lease();
    const all = [
        Limit.slidingWindow(100, "5h", { segments: 20 }), Limit.window(100, "@month", { rollover: 50 }).warn(80),
        perHour(100).spread(), perHour(100).queue(10).spread(), Limit.window(100, "@day").spread(),
    ];
    for (const limit of all) {
        const key = `options:${limit}`;
        assert.ok((await limiter.allow(key, limit)).allowed);
        assert.ok((await limiter.all([{ key, limit }])).allowed);
        assert.ok((await leases.allow(key, limit)).allowed);
        if (limit.corrects) {
            assert.equal((await limiter.atMost(key, limit, 40)).remaining, 40);
        } else {
            await assert.rejects(limiter.atMost(key, limit, 40), InvalidError);
        }
    }
    for (const options of [{ segments: 1 }, { segments: 121 }]) { assert.throws(() => Limit.slidingWindow(5, "1h", options), InvalidError); }
    for (const window of ["@day", "1h"]) { assert.throws(() => Limit.window(5, window, { rollover: 101 }), InvalidError); }
    assert.throws(() => Limit.slidingLog(5, "1h").spread(), InvalidError);
    await assert.rejects(limiter.all([{ key: "k", limit: "5/s", orElse: true }]), InvalidError);
    await leases.close();
    limiter.close();
});

for (const [name, client] of Object.entries(clients)) {
    const open = async (options) => {
        const application = client();
        if (!("isOpen" in application)) { applications.push(application); }
        const limiter = new Limiter(application, { whenDown: failOpen(), timeout: 30_000, ...options });
        await connected(limiter);
        return limiter;
    };

    test(`${name}: every kind of call`, async () => {
        const limiter = await open();
        const key = (k) => `${name}:${k}`;
        assert.equal((await limiter.allow(key("a"), perHour(2))).remaining, 1);
        assert.equal((await limiter.allow(key("a"), perHour(2))).allowed, true);
        const denied = await limiter.allow(key("a"), perHour(2));
        assert.ok(!denied.allowed && denied.retryAfter > 0 && denied.source === "server");
        assert.equal((await limiter.force(key("a"), perHour(2))).remaining, -1);
        assert.equal(await limiter.refund(key("a"), 1), 0);
        assert.equal(await limiter.reset(key("a")), true);
        assert.equal(await limiter.refund(key("none"), 1), null);
        assert.equal((await limiter.allowAtMost(key("b"), Limit.window(3, "@day"), 5)).granted, 3);
        assert.equal((await limiter.peek(key("c"), Limit.slidingWindow(3, "1m"))).remaining, 2);
        assert.equal((await limiter.allow(key("d"), Limit.slidingLog(3, "1m"))).remaining, 2);
        assert.equal((await limiter.allow(key("e"), Limit.gcra(4, 5, 60))).remaining, 4);
        assert.equal((await limiter.allow(key("f"), perHour(1).queue(1))).allowed, true);
        assert.equal((await limiter.allow(Buffer.from([0, 255, 13, 10]), "1/hour")).source, "server");
        assert.equal((await limiter.allow("x".repeat(5000), "5/hour")).source, "server");
        const many = await limiter.all([{ key: key("g"), limit: "10/hour", cost: 4 }, { key: key("h"), limit: "2/hour" }], { id: key("call"), remember: "10m" });
        assert.ok(many.allowed && many.limits[0].remaining === 6 && many.limits[1].remaining === 1);
        assert.equal((await limiter.all([{ key: key("g"), limit: "10/hour", cost: 4 }, { key: key("h"), limit: "2/hour" }], { id: key("call"), remember: "10m" })).limits[0].remaining, 6);
        assert.deepEqual((await limiter.settle(key("call"), [1, null])).map((c) => c.charged), [1, 1]);
        assert.equal(await limiter.cancel(key("unknown")), null);
        await assert.rejects(limiter.check("unknown", "u"), RefusedError);
        await assert.rejects(limiter.allow(key("g"), Limit.window(3, "@day")), /WRONGTYPE/);
        assert.ok((await limiter.wait(key("i"), "1000/s")).allowed);
        const job = (holder) => Limit.concurrency(1, "1h", holder);
        assert.ok((await limiter.allow(key("j"), job("a"))).allowed);
        assert.equal((await limiter.allow(key("j"), job("b"))).allowed, false);
        assert.deepEqual([await limiter.release(key("j"), "a"), await limiter.release(key("j"), "a")], [true, false]);
        assert.ok((await limiter.allow(key("j"), job("b"))).allowed);
        const left = async () => (await limiter.peek(key("k"), "100/day")).remaining;
        for (const [id, cost, want] of [["settled", 30, 69], ["left", undefined, 69]]) {
            const reserved = await limiter.reserving([{ key: key("k"), limit: "100/day" }], { tokens: 60, id: key(id), remember: "1m" });
            assert.ok(reserved.allowed && (await left()) < 69);
            if (cost !== undefined) { reserved.settle(cost); }
            await reserved[Symbol.asyncDispose]();
            assert.equal(await left(), want);
        }
        limiter.close();
    });

    test(`${name}: ten thousand calls at once, none lost and none over the limit`, async () => {
        const limiter = await open({ whenDown: failClosed() });
        const results = await Promise.all(Array.from({ length: 10_000 }, () => limiter.allow(`${name}:crowd`, Limit.window(6000, "1d"))));
        assert.ok(results.every((r) => r.source === "server"));
        assert.equal(results.filter((r) => r.allowed).length, 6000);
        limiter.close();
    });
}
