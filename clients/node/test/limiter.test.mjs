import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { test } from "node:test";

import { ClosedError, DeniedError, InvalidError, Limit, Limiter, RefusedError, UnauthenticatedError, UnavailableError, failClosed, failOpen, localShare, perMinute, perSecond } from "../dist/esm/index.js";
import { limitOf } from "../dist/esm/limit.js";
import { LocalShares } from "../dist/esm/local.js";
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
        "TB.ACQUIRE k 100 100/minute 3",
        "FW.ACQUIRE k 5 @day 4 UPTO",
        "SL.ACQUIRE k 5 60000ms 1 PEEK",
        "SW.ACQUIRE k 5 90000ms 1 FORCE",
        "LB.QUEUE k 5 60/60000ms 1",
        "CL.THROTTLE k 14 30 60 1",
        "RL.ALL TB a 5 5/s COST 3 KEEP 10% LQ b 5 60/60000ms TOKENS 2 AS call FOR 600000ms",
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
    for (const wrong of ["", "/minute", "100/parsec", "-1/s", "100/0s"]) {
        await assert.rejects(limiter.allow("k", wrong), InvalidError, wrong);
    }
    await assert.rejects(limiter.allow("k", "1/s", 0), InvalidError);
    await assert.rejects(limiter.allow("k", "1/s", NaN), InvalidError);
    await assert.rejects(limiter.all([]), InvalidError);
    await assert.rejects(limiter.all([{ key: "a", limit: "1/s", keep: "200%" }]), InvalidError);
    await assert.rejects(limiter.check("p", "u", { id: "x" }), InvalidError);
    assert.throws(() => localShare(0), InvalidError);
    assert.throws(() => perSecond(0), InvalidError);
    for (const wrong of [undefined, null, 7, {}]) { // from programs without types
        await assert.rejects(limiter.allow(wrong, "1/s"), InvalidError);
        await assert.rejects(limiter.allow("k", wrong), InvalidError);
    }
    assert.equal(driver.sent.length, 0);
});

test("without a policy nothing is opened", () => {
    const client = { duplicate: () => assert.fail("a connection was opened") };
    for (const wrong of [undefined, null, "open", failOpen, { kind: "opened" }]) {
        assert.throws(() => new Limiter(client, { whenDown: wrong }), /InvalidError: whenDown: must be failOpen\(\), .*, got /);
    }
    assert.throws(() => new Limiter(client), InvalidError);
});

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

test("calls that hang end at their own deadlines, among others that are answered", async () => {
    let hung = 0;
    const driver = new FakeDriver((words, n) => (n % 3 === 0 ? granted : (hung++, forever())));
    const limiter = new Limiter(driver, { whenDown: failClosed(), timeout: 4, breaker: { failures: 1_000_000 } });
    const results = [];
    for (let i = 0; i < 3000; i++) {
        results.push(limiter.allow("k", "10/s"));
        if (i % 100 === 0) { await new Promise((resolve) => setTimeout(resolve, 1)); }
    }
    const sources = (await Promise.all(results)).map((result) => result.cause?.reason ?? result.source);
    assert.equal(sources.filter((source) => source === "timeout").length, hung);
    assert.equal(sources.filter((source) => source === "server").length, 1000);
    limiter.close();
});

test("answered calls leave no timers behind", async (t) => {
    const made = t.mock.method(globalThis, "setTimeout"), cleared = t.mock.method(globalThis, "clearTimeout");
    const limiter = new Limiter(new FakeDriver((words) => (words[0] === "RL.CANCEL" ? [] : granted)), { whenDown: failClosed(), timeout: "1h" });
    for (let i = 0; i < 100; i++) {
        await limiter.allow("k", "10/s");
        await limiter.cancel("id"); // with the time that is left for another attempt, which is never the same
    }
    limiter.close();
    const live = new Set(made.mock.calls.map((call) => call.result));
    for (const call of cleared.mock.calls) { live.delete(call.arguments[0]); }
    assert.ok(made.mock.callCount() > 2, "cancel has a timer of its own");
    assert.equal(live.size, 1); // that of the usual timeout, which all calls share
});

test("a timeout longer than a timer can be does not fire at once", async (t) => {
    const made = t.mock.method(globalThis, "setTimeout");
    const limiter = new Limiter(new FakeDriver((words) => (words[0] === "RL.CANCEL" ? [] : granted)), { whenDown: failClosed(), timeout: "30d" });
    await limiter.allow("k", "10/s");
    await limiter.cancel("id");
    limiter.close();
    for (const call of made.mock.calls) {
        assert.ok(call.arguments[1] < 2 ** 31, `setTimeout of ${call.arguments[1]} ms`);
        call.result.unref();
    }
});

test("the breaker opens after failures in a row, and closes when a probe is answered", async () => {
    let isUp = false;
    const changes = [];
    const driver = new FakeDriver(() => {
        if (isUp) { return granted; }
        throw new UnavailableError("connection", "gone");
    });
    const limiter = new Limiter(driver, { whenDown: failOpen(), breaker: { failures: 3, coolDown: 2 }, onBreaker: (open, cause) => changes.push([open, cause?.message]) });
    for (let i = 0; i < 3; i++) { await limiter.allow("k", "10/s"); }
    assert.ok(limiter.isOpen);
    const sent = driver.sent.filter((words) => words[0] !== "PING").length;
    const result = await limiter.allow("k", "10/s");
    assert.equal(result.cause.reason, "circuit-open");
    assert.equal(driver.sent.filter((words) => words[0] !== "PING").length, sent);
    isUp = true;
    while (limiter.isOpen) { await new Promise((resolve) => setTimeout(resolve, 2)); }
    assert.equal((await limiter.allow("k", "10/s")).source, "server");
    assert.deepEqual(changes, [[true, "gone"], [false, undefined]]);
    limiter.close();
});

test("without onBreaker, an opening and a closing of the breaker are warnings", async (t) => {
    const { mock } = t.mock.method(process, "emitWarning", () => undefined);
    let isUp = false;
    const driver = new FakeDriver(() => {
        if (!isUp) { throw new UnavailableError("connection", "gone"); }
        return "PONG";
    });
    const limiter = new Limiter(driver, { whenDown: failOpen(), breaker: { coolDown: 1 } });
    for (let i = 0; i < 7; i++) { await limiter.allow("k", "10/s"); }
    const told = () => mock.calls.map((call) => call.arguments);
    assert.deepEqual(told(), [["Stint does not answer, so the fallback decides: gone", "StintWarning"]]);
    isUp = true;
    while (limiter.isOpen) { await new Promise((resolve) => setTimeout(resolve, 2)); }
    assert.deepEqual(told().slice(1), [["Stint answers again", "StintWarning"]]);
    limiter.close();
});

test("probes do not become rarer in a long outage", async (t) => {
    t.mock.timers.enable({ apis: ["setTimeout"] });
    const driver = new FakeDriver(() => { throw new UnavailableError("connection", "gone"); });
    const limiter = new Limiter(driver, { whenDown: failOpen(), breaker: { failures: 1 } });
    await limiter.allow("k", "10/s");
    assert.ok(limiter.isOpen);
    const probes = () => driver.sent.filter((words) => words[0] === "PING").length;
    for (let second = 0; second < 600; second++) {
        const before = probes();
        for (let i = 0; i < 4; i++) {
            t.mock.timers.tick(250);
            for (let turn = 0; turn < 10; turn++) { await Promise.resolve(); }
        }
        assert.ok(probes() - before >= 2, `${probes() - before} probes in second ${second}`);
    }
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
    const holders = [];
    for (let i = 0; i < 4; i++) { holders.push(await limiter.allow("jobs", Limit.concurrency(12, "1d", `job-${i}`))); }
    assert.deepEqual(holders.map((r) => r.allowed), [true, true, true, false]);
    limiter.close();
});

test("a server that comes and goes gives no process a new share", async () => {
    const driver = new FakeDriver((words) => {
        if (words[0] !== "PING") { throw new UnavailableError("connection", "gone"); }
        return "PONG";
    });
    const limiter = new Limiter(driver, { whenDown: localShare(1 / 4), breaker: { failures: 1, coolDown: 1 }, onBreaker: () => undefined });
    const results = [];
    for (let i = 0; i < 4; i++) {
        results.push(await limiter.allow("k", "12/hour"));
        while (limiter.isOpen) { await new Promise((resolve) => setTimeout(resolve, 2)); }
    }
    assert.deepEqual(results.map((r) => r.allowed), [true, true, true, false]);
    limiter.close();
});

test("a local share without room for a key looks for room once a second", () => {
    let now = 0;
    const shares = new LocalShares(1 / 8, { now: () => now, sleep: forever }), limit = limitOf(perSecond(80));
    const take = (key) => shares.take([{ key, limit, tokens: 1 }], true).allowed;
    for (let i = 0; i < 100_000; i++) { assert.ok(take(`k${i}`)); }
    assert.ok(!take("new")); // all others are in use
    now = 500;
    assert.ok(!take("new")); // they are full again
    now = 1000;
    assert.ok(take("new"));
});

test("a request with an id is sent again, another is not", async () => {
    const once = (words, n) => {
        if (n === 1) { throw new UnavailableError("connection", "gone"); }
        return String(words[0]) === "RL.SETTLE" ? [[5, 10, 5, 1]] : [1, -1, 0, [[10, 9, 100]]];
    };
    let driver = new FakeDriver(once);
    let limiter = new Limiter(driver, { whenDown: failClosed(), timeout: 60_000 });
    assert.ok((await limiter.check("p", "u", { id: "call", remember: "1m" })).allowed);
    assert.equal(driver.sent.length, 2);
    driver = new FakeDriver(once);
    limiter = new Limiter(driver, { whenDown: failClosed(), timeout: 60_000 });
    assert.equal((await limiter.check("p", "u")).allowed, false);
    assert.equal(driver.sent.length, 1);
    driver = new FakeDriver(once);
    limiter = new Limiter(driver, { whenDown: failClosed(), timeout: 60_000 });
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

test("a wait ends when the limiter is closed", { timeout: 60_000 }, async () => {
    for (const reply of [[1, 10, 0, 60_000, 100], [0, 10, 0, 60_000, 100]]) { // a reserved place, and a denial
        const limiter = new Limiter(new FakeDriver(() => reply), { whenDown: failClosed() });
        const waiting = limiter.wait("k", reply[0] === 1 ? "10/s" : "FW 10 1m");
        setTimeout(() => { limiter.close(); }, 5);
        await assert.rejects(waiting, ClosedError);
        await assert.rejects(limiter.time.sleep(60_000), ClosedError);
    }
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
