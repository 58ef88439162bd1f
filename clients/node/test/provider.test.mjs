// What other services tell about their limits, as the vectors of all clients have it, and limits that follow.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { Redis } from "ioredis";

import { InvalidError, Limit, Limiter, UnavailableError, failClosed, pacedFetch, perSecond, readLimits } from "../dist/esm/index.js";
import { pauseOf } from "../dist/esm/provider.js";
import { FakeDriver } from "./fake-driver.mjs";
import { startServer } from "./server.mjs";

const { cases, now_ms: now } = JSON.parse(readFileSync(new URL("../../vectors/provider.json", import.meta.url), "utf8"));

for (const { name, status, headers, limits, pause_ms: pause } of cases) {
    test(name, () => {
        const want = limits.map(({ reset_ms: resetAfter, ...rest }) => ({ ...rest, ...(resetAfter !== undefined && { resetAfter }) }));
        for (const fields of [headers, new Headers(headers)]) { // of node:http, of fetch
            const told = readLimits(fields, now);
            assert.deepEqual(told, want);
            assert.equal(pauseOf({ status, headers: fields }, told, now), pause);
        }
    });
}

function limiterOf(reply) {
    const driver = new FakeDriver(reply);
    return { driver, limiter: new Limiter(driver, { whenDown: failClosed() }), sent: () => driver.sent.map((words) => words.join(" ")) };
}

test("atMost leaves at most so many tokens", async () => {
    const { limiter, driver } = limiterOf(() => [60, 100, 40, 0, 6000]);
    for (const [limit, words] of [
        [perSecond(10).burst(100), "TB 100 10/1000ms 40"],
        ["FW 1000 @month TZ Europe/Berlin FROM 17 HISTORY 12", "FW 1000 @month 40 TZ Europe/Berlin FROM 17 HISTORY 12"],
        [Limit.gcra(15, 30, 60), "CL 15 30 60 40"],
    ]) {
        const result = { allowed: true, granted: 60, limit: 100, remaining: 40, retryAfter: 0, wait: 0, resetAfter: 6000, source: "server" };
        assert.deepEqual(await limiter.atMost("api", limit, 40), result);
        assert.equal(driver.sent.at(-1).join(" "), `RL.ATMOST api ${words}`);
    }
    driver.reply = () => [0, 100, 40, 0, 6000, 1];
    assert.equal((await limiter.atMost("api", "TB 100 10/s WARN 50%", 0)).warn, true);
    await assert.rejects(limiter.atMost("api", Limit.concurrency(5, "1m", "job"), 1), InvalidError);
    await assert.rejects(limiter.atMost("api", "5/s", -1), InvalidError);
    driver.reply = () => { throw new UnavailableError("connection", "gone"); };
    await assert.rejects(limiter.atMost("api", "5/s", 1), UnavailableError);
});

test("atMost on a server", async (t) => {
    const server = await startServer(), redis = new Redis(server.port), limiter = new Limiter(redis, { whenDown: failClosed(), timeout: 60_000 });
    t.after(async () => { limiter.close(); redis.disconnect(); await server.kill(); });
    for (const limit of ["TB 100 1/h", "LB 100 1/h", "FW 100 @year WARN 50%", "SW 100 10d", "SL 100 10d", "CL 99 1 3600"]) {
        const { granted, limit: most, remaining, warn } = await limiter.atMost(limit, limit, 40);
        assert.deepEqual([granted, most, remaining, warn], [60, 100, 40, limit.includes("WARN") ? true : undefined], limit);
        assert.equal((await limiter.atMost(limit, limit, 50)).granted, 0);
        assert.equal((await limiter.allow(limit, limit)).remaining, 39);
    }
});

test("follow lowers the limits that are given", async () => {
    const { limiter, sent } = limiterOf(() => [0, 100, 40, 0, 6000]);
    const headers = { "x-ratelimit-remaining-requests": "7", "x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "2s", "retry-after": "1" };
    const limits = { requests: { key: "api", limit: "TB 60 1/s" }, "input-tokens": { key: "in", limit: "TB 60 1/s" } };
    assert.equal(await limiter.follow({ status: 429, headers }, limits), 2000);
    assert.equal(await limiter.follow({ status: 200, headers: {} }, limits), 0);
    assert.deepEqual(sent(), ["RL.ATMOST api TB 60 1/s 7"]);
});

test("pacedFetch follows answers that say fewer are left", async () => {
    const { limiter, sent } = limiterOf((words) => (words[0] === "RL.ATMOST" ? [3, 10, 5, 0, 100] : [1, 10, 8, 0, 100]));
    const lefts = ["8", "9", "5"], paced = (limit) => pacedFetch(limiter, limit, { fetch: async () => new Response(null, { headers: { "x-ratelimit-remaining": lefts.shift() ?? "0" } }) });
    for (let i = 0; i < 3; i++) { await paced(perSecond(10))("http://a/"); }
    assert.deepEqual(sent().filter((words) => words.startsWith("RL.ATMOST")), ["RL.ATMOST http:a TB 10 10/1000ms 5"]);
    await paced(perSecond(10).queue(5))("http://a/"); // a queue has no tokens to lower
    assert.equal(sent().filter((words) => words.startsWith("RL.ATMOST")).length, 1);
});

test("pacedFetch pauses where nothing is left, and a limit that cannot follow is no error", async () => {
    const { limiter } = limiterOf((words) => { if (words[0] === "RL.ATMOST") { throw new UnavailableError("connection", "gone"); } return [1, 10, 8, 0, 100]; });
    const lost = [], answers = [new Response(null, { headers: { "x-ratelimit-remaining": "0", "x-ratelimit-reset": "90" } })];
    const paced = pacedFetch(limiter, perSecond(10), { fetch: async () => answers.shift(), onLostReport: (error) => lost.push(error.reason) });
    assert.equal((await paced("http://a/")).status, 200);
    await assert.rejects(paced("http://a/"), /asked for a pause/);
    assert.deepEqual(lost, ["connection"]);
});
