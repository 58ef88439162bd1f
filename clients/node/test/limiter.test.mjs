import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { test } from "node:test";

import { DeniedError, InvalidError, Limit, Limiter, RefusedError, UnauthenticatedError, UnavailableError, failClosed, failOpen, localShare, perMinute, perSecond } from "../dist/esm/index.js";
import { FakeDriver, forever } from "./fake-driver.mjs";

const granted = [1, 10, 9, 0, 100];
const refuse = (text) => async () => {
    const { StintError } = await import("../dist/esm/index.js");
    const { ofReply } = await import("../dist/esm/errors.js");
    const error = ofReply(text);
    assert.ok(error instanceof StintError);
    throw error;
};

test("words of each request", async () => {
    const driver = new FakeDriver((words) => (String(words[0]).startsWith("RL.") ? [1, -1, 0, [[10, 9, 100]]] : granted));
    const limiter = new Limiter(driver, { whenDown: failClosed() });
    await limiter.allow("k", perSecond(10).burst(20));
    await limiter.allow("k", "100/minute", 3);
    await limiter.allowAtMost("k", Limit.window(5, "@day"), 4);
    await limiter.peek("k", Limit.slidingLog(5, "1m"));
    await limiter.force("k", Limit.slidingWindow(5, "90s"));
    await limiter.allow("k", perMinute(60).queue(5));
    await limiter.allow("k", Limit.gcra(14, 30, 60));
    await limiter.all([{ key: "a", limit: "5/s", cost: 3, keep: "10%" }, { key: "b", limit: perMinute(60).queue(5) }], { tokens: 2, keep: 1, id: "call", remember: "10m" });
    await limiter.check("llm", "user7", { tokens: 8000, fields: { tenant: "acme", model: "large" }, maxWait: "2s" });
    assert.deepEqual(driver.sent.map((words) => words.join(" ")), [
        "TB.ACQUIRE k 20 10/1000ms 1",
        "TB.ACQUIRE k 100 100/60000ms 3",
        "FW.ACQUIRE k 5 @day 4 UPTO",
        "SL.ACQUIRE k 5 60000ms 1 PEEK",
        "SW.ACQUIRE k 5 90000ms 1 FORCE",
        "LB.QUEUE k 5 60/60000ms 1",
        "CL.THROTTLE k 14 30 60 1",
        "RL.ALL TB a 5 5/1000ms COST 3 KEEP 10% LQ b 5 60/60000ms TOKENS 2 AS call FOR 600000ms",
        "RL.CHECK llm user7 8000 MAXWAIT 2000ms WITH model large tenant acme",
    ]);
});

test("long keys are shortened as in the Go client", async () => {
    const driver = new FakeDriver(() => granted);
    const limiter = new Limiter(driver, { whenDown: failOpen() });
    await limiter.allow("x".repeat(200), "1/s");
    await limiter.allow("x".repeat(201), "1/s");
    assert.equal(driver.sent[0][1], "x".repeat(200));
    assert.equal(driver.sent[1][1].length, 208);
    assert.ok(driver.sent[1][1].startsWith(`${"x".repeat(136)}:sha256:`));
});

test("arguments are refused before anything is sent", async () => {
    const driver = new FakeDriver(() => granted);
    const limiter = new Limiter(driver, { whenDown: failOpen() });
    for (const wrong of ["", "100", "/minute", "1.5/s", "100/parsec", "-1/s", "100/0s", "100/20y", "0/s"]) {
        await assert.rejects(limiter.allow("k", wrong), InvalidError, wrong);
    }
    await assert.rejects(limiter.allow("k", "1/s", 0), InvalidError);
    await assert.rejects(limiter.allow("k", "1/s", NaN), InvalidError);
    await assert.rejects(limiter.all([]), InvalidError);
    await assert.rejects(limiter.all([{ key: "a", limit: "1/s", keep: "200%" }]), InvalidError);
    await assert.rejects(limiter.check("p", "u", { id: "x" }), InvalidError);
    assert.throws(() => localShare(0), InvalidError);
    assert.throws(() => perSecond(0), InvalidError);
    assert.equal(driver.sent.length, 0);
});

for (const [text, period] of [["100/minute", 60000], ["100/min", 60000], ["10 per second", 1000], ["5/hour", 3600000], ["1000/day", 86400000], ["5/500ms", 500], ["3/1.5s", 1500], ["7 per 2 weeks", 1209600000]]) {
    test(`limit ${text}`, () => assert.equal(Limit.parse(text).period, period));
}

test("a driver that hangs does not hold a call", async () => {
    for (const [whenDown, allowed] of [[failOpen(), true], [failClosed(), false]]) {
        const limiter = new Limiter(new FakeDriver(forever), { whenDown, timeout: 5 });
        const result = await limiter.allow("k", "10/s");
        assert.equal(result.allowed, allowed);
        assert.equal(result.source, "fallback");
        assert.ok(result.cause instanceof UnavailableError && result.cause.reason === "timeout");
        limiter.close();
    }
});

test("the breaker opens after failures in a row, and closes when a probe is answered", async () => {
    let isUp = false;
    const changes = [];
    const driver = new FakeDriver(() => {
        if (isUp) { return granted; }
        throw new UnavailableError("connection", "gone");
    });
    const limiter = new Limiter(driver, { whenDown: failOpen(), breaker: { failures: 3, coolDown: 2 }, onBreaker: (open) => changes.push(open) });
    for (let i = 0; i < 3; i++) { await limiter.allow("k", "10/s"); }
    assert.ok(limiter.isOpen);
    const sent = driver.sent.filter((words) => words[0] !== "PING").length;
    const result = await limiter.allow("k", "10/s");
    assert.equal(result.cause.reason, "circuit-open");
    assert.equal(driver.sent.filter((words) => words[0] !== "PING").length, sent);
    isUp = true;
    while (limiter.isOpen) { await new Promise((resolve) => setTimeout(resolve, 2)); }
    assert.equal((await limiter.allow("k", "10/s")).source, "server");
    assert.deepEqual(changes, [true, false]);
    limiter.close();
});

test("failures that overlap count once", async () => {
    const limiter = new Limiter(new FakeDriver(forever), { whenDown: failOpen(), timeout: 5 });
    await Promise.all(Array.from({ length: 1000 }, () => limiter.allow("k", "10/s")));
    assert.ok(!limiter.isOpen);
    limiter.close();
});

test("errors of the server", async () => {
    const cases = [["CLUSTERDOWN no leader", UnavailableError], ["UNCERTAIN lost", UnavailableError], ["NOAUTH Authentication required.", UnauthenticatedError]];
    for (const [text, kind] of cases) {
        const limiter = new Limiter(new FakeDriver(refuse(text)), { whenDown: failOpen() });
        const result = await limiter.allow("k", "10/s");
        assert.ok(result.allowed && result.cause instanceof kind, text);
        assert.ok(!limiter.isOpen);
    }
    for (const text of ["ERR key: longer than 4096 bytes", "WRONGTYPE other", "SOMETHING new"]) {
        const limiter = new Limiter(new FakeDriver(refuse(text)), { whenDown: failOpen() });
        await assert.rejects(limiter.allow("k", "10/s"), RefusedError);
    }
    await assert.rejects(new Limiter(new FakeDriver(() => "OK"), { whenDown: failOpen() }).allow("k", "10/s"), RefusedError);
});

test("a share of the limit while Stint does not answer", async () => {
    const limiter = new Limiter(new FakeDriver(() => { throw new UnavailableError("connection", "gone"); }), { whenDown: localShare(1 / 4), assumed: { p: ["8/hour"] } });
    const results = [];
    for (let i = 0; i < 4; i++) { results.push(await limiter.allow("k", "12/hour")); }
    assert.deepEqual(results.map((r) => r.allowed), [true, true, true, false]);
    assert.ok(results[3].source === "local" && results[3].retryAfter > 0 && results[3].limit === 3);
    const checks = [];
    for (let i = 0; i < 3; i++) { checks.push(await limiter.check("p", "u")); }
    assert.deepEqual(checks.map((r) => r.allowed), [true, true, false]);
    assert.equal((await limiter.check("unknown", "u")).allowed, false);
    limiter.close();
});

test("a request with an id is sent again, another is not", async () => {
    const once = (words, n) => {
        if (n === 1) { throw new UnavailableError("connection", "gone"); }
        return String(words[0]) === "RL.SETTLE" ? [[5, 10, 5, 1]] : [1, -1, 0, [[10, 9, 100]]];
    };
    let driver = new FakeDriver(once);
    let limiter = new Limiter(driver, { whenDown: failClosed(), timeout: 1000 });
    assert.ok((await limiter.check("p", "u", { id: "call", remember: "1m" })).allowed);
    assert.equal(driver.sent.length, 2);
    driver = new FakeDriver(once);
    limiter = new Limiter(driver, { whenDown: failClosed(), timeout: 1000 });
    assert.equal((await limiter.check("p", "u")).allowed, false);
    assert.equal(driver.sent.length, 1);
    driver = new FakeDriver(once);
    limiter = new Limiter(driver, { whenDown: failClosed(), timeout: 1000 });
    assert.deepEqual(await limiter.settle("call", [5, null]), [{ charged: 5, limit: 10, remaining: 5, resetAfter: 1 }]);
    assert.deepEqual(driver.sent[1], ["RL.SETTLE", "call", "COSTS", "5", "-"]);
});

test("waiting", async () => {
    let limiter = new Limiter(new FakeDriver(() => [1, 10, 0, 3, 100]), { whenDown: failClosed() });
    assert.equal((await limiter.wait("k", "10/s")).wait, 3);
    const driver = new FakeDriver((words) => (words[0] === "RL.REFUND" ? 1 : [1, 10, 0, 60_000, 100]));
    limiter = new Limiter(driver, { whenDown: failClosed() });
    const controller = new AbortController();
    setTimeout(() => controller.abort(new Error("no longer")), 5);
    await assert.rejects(limiter.wait("k", "10/s", { signal: controller.signal }), /no longer/);
    assert.deepEqual(driver.sent.at(-1), ["RL.REFUND", "k", "1"]);
    limiter = new Limiter(new FakeDriver(() => [0, 10, 0, -1, 100]), { whenDown: failClosed() });
    await assert.rejects(limiter.wait("k", "10/s", { tokens: 11 }), DeniedError);
    limiter = new Limiter(new FakeDriver(() => { throw new UnavailableError("connection", "gone"); }), { whenDown: failClosed() });
    await assert.rejects(limiter.wait("k", "10/s"), DeniedError);
});

test("the CommonJS build has the same names", async () => {
    const commonjs = createRequire(import.meta.url)("../dist/cjs/index.js");
    assert.deepEqual(Object.keys(commonjs).sort(), Object.keys(await import("../dist/esm/index.js")).sort());
});

test("nothing is sent once a call is over", async () => {
    const calls = [];
    const driver = { send: (_, call) => { calls.push(call); return new Promise(() => {}); }, close: () => {} };
    await new Limiter(driver, { whenDown: failOpen(), timeout: 2 }).allow("k", "1/s");
    assert.equal(calls[0].isOver, true);
});
