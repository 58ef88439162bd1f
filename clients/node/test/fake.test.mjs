// The fake makes the server's decisions.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { after, test } from "node:test";

import { Redis } from "ioredis";

import { InvalidError, Limit, Limiter, RefusedError, failClosed, pacedFetch, localShare, perDay, perMinute, perSecond } from "@stintdb/client";
import { Clock, FakeLimiter, FakeServer } from "@stintdb/client/testing";
import { forgetLate } from "../dist/esm/limiter.js";
import { startServer } from "./server.mjs";

/** A reply as transcripts have it. */
const shown = (reply) => (Array.isArray(reply) ? `[${reply.map(shown).join(" ")}]` : reply === null ? "nil" : typeof reply === "string" ? `"${reply}"` : String(reply));

/** The reply to a command as transcripts have it. */
function replyOf(server, words) {
    try {
        return shown(server.execute(words));
    } catch (error) {
        return `-${error.message}`;
    }
}

test("random requests at times of a clock, with the server's replies to the millisecond", () => {
    const server = new FakeServer(new Clock(new Date("2026-01-02T03:04:05Z")));
    let reply = "", played = 0;
    for (const line of readFileSync(new URL("../../vectors/decisions.txt", import.meta.url), "utf8").trim().split("\n")) {
        if (line.startsWith("> ")) {
            reply = replyOf(server, line.split(" ").slice(1));
            played++;
        } else if (line.startsWith("advance ")) {
            server.clock.advance(line.split(" ")[1]);
        } else if (!line.startsWith("#")) {
            assert.equal(reply, line, `request ${played}`);
        }
    }
    assert.equal(played, 900);
});

const real = await startServer(), application = new Redis({ port: real.port, lazyConnect: true });
after(async () => {
    application.disconnect();
    await real.kill();
});

/** Numbers from a seed, from 0 to below 1. */
function numbers(seed) {
    return () => {
        seed = (seed * 48271) % 2147483647;
        return seed / 2147483647;
    };
}

// So slow that no token comes back during the test.
const slow = {
    bucket: ["TB 20 7/9d", "TB 30 11/9d"], meter: ["LB 20 7/9d"], queue: ["LQ 9 1/9d"], gcra: ["CL 11 1 999999"], window: ["FW 20 9d"], log: ["SL 20 9d"],
    sliding: ["SW 20 3650d"], adaptive: ["AD 20 2/9d 7/9d", "AD 30 4/18d 11/6d"], leases: ["CC 3 9d a", "CC 3 9d b", "CC 3 9d c", "CC 3 9d d", "CC 3 9d e"],
};
const rough = 60_000; // milliseconds by which times may differ: the server's clock does not stand still

function assertNear(got, want, about) {
    const { resetAfter, retryAfter, wait, ...exact } = want;
    for (const [name, time] of Object.entries({ resetAfter, retryAfter, wait })) {
        assert.ok(got[name] === time || (got[name] >= 0 && time >= 0 && Math.abs(got[name] - time) < rough), `${about}: ${name} is ${got[name]}, the server's ${time}`);
        exact[name] = got[name];
    }
    assert.deepEqual(got, exact, about);
}

test("a settlement that comes too late is told", async (t) => {
    const { mock } = t.mock.method(console, "error", () => undefined);
    const fake = new FakeLimiter(), limits = [{ key: "k", limit: "TB 100 1/d" }];
    await fake.settle("earlier", 3); // as another test may
    forgetLate();
    mock.resetCalls();
    for (const [id, cost] of [["canceled"], ["first", 3], ["second", 3]]) {
        const reserved = await fake.reserving(limits, { tokens: 8, id, remember: "1m" });
        fake.clock.advance("2m");
        if (cost !== undefined) { reserved.settle(cost); }
        await reserved[Symbol.asyncDispose]();
        assert.equal(reserved.charges, null);
        assert.match(reserved.error.message, /all that was reserved stays taken/);
    }
    assert.equal(await fake.settle("second", 3), null);
    assert.equal(mock.calls.length, 1);
    assert.match(mock.calls[0].arguments[0], /the request "first" that was settled/);
});

test("random calls are decided as by the server", async (t) => {
    const fake = new FakeLimiter(), limiter = new Limiter(application, { whenDown: failClosed(), timeout: "10s" });
    t.after(() => { limiter.close(); });
    fake.clock.set(Date.now());
    for (const [name, texts] of Object.entries(slow)) {
        const random = numbers(name.length), pick = (list) => list[Math.floor(random() * list.length)];
        for (let i = 0; i < 200; i++) {
            const limit = Limit.parse(pick(texts)), { options, isOnePlace } = limit.row, key = `fake:${name}:${Math.floor(i / 25)}`;
            const calls = { allow: true, peek: options.includes("PEEK"), force: options.includes("FORCE"), allowAtMost: options.includes("UPTO") };
            const call = pick(Object.keys(calls).filter((each) => calls[each])), n = isOnePlace ? 1 : 1 + Math.floor(random() * 6);
            if (isOnePlace && random() < 0.2) {
                const holder = pick(["a", "b", "c"]);
                assert.equal(await fake.release(key, holder), await limiter.release(key, holder));
            }
            const got = await fake[call](key, limit, n), want = await limiter[call](key, limit, n);
            assert.equal(want.source, "server");
            assertNear(got, want, `${i}: ${call} ${n} of ${limit}`);
        }
    }
});

test("several limits are decided as by the server", async (t) => {
    const fake = new FakeLimiter(), limiter = new Limiter(application, { whenDown: failClosed(), timeout: "10s" });
    t.after(() => { limiter.close(); });
    fake.clock.set(Date.now());
    const random = numbers(7);
    for (let i = 0; i < 400; i++) {
        const names = Object.keys(slow).filter(() => random() < 0.4), isAhead = random() < 0.3;
        const limits = names.map((name) => {
            const cost = name === "leases" ? random() < 0.3 ? 0 : undefined : random() < 0.3 ? Math.floor(random() * 4) : undefined;
            const limit = slow[name][Math.floor(random() * slow[name].length)], { keeps } = Limit.parse(limit).row;
            const keep = keeps && !isAhead && random() < 0.3 ? ["3", "33.3%", "100%"][Math.floor(random() * 3)] : undefined;
            return { key: `several:${name}:${Math.floor(i / 20)}`, limit, ...(cost !== undefined && { cost }), ...(keep !== undefined && { keep }) };
        });
        if (limits.length === 0) { continue; }
        const options = { tokens: names.includes("leases") ? 1 : 1 + Math.floor(random() * 3), peek: !isAhead && random() < 0.2, ...(isAhead && { maxWait: ["1h", "2d", "20d"][Math.floor(random() * 3)] }) };
        const got = await fake.all(limits, options), want = await limiter.all(limits, options), about = `${i}: ${JSON.stringify(limits)} ${JSON.stringify(options)}`;
        assert.equal(want.source, "server");
        const near = { resetAfter: 0 };
        assertNear({ ...got, ...near, limits: 0 }, { ...want, ...near, limits: 0 }, about);
        want.limits.forEach((state, j) => { assertNear({ retryAfter: 0, wait: 0, ...got.limits[j] }, { retryAfter: 0, wait: 0, ...state }, about); });
    }
});

test("reservations are settled as by the server", async (t) => {
    const fake = new FakeLimiter(), limiter = new Limiter(application, { whenDown: failClosed(), timeout: "10s" });
    t.after(() => { limiter.close(); });
    fake.clock.set(Date.now());
    const random = numbers(11), pick = (list) => list[Math.floor(random() * list.length)];
    const assertAlike = async (call, about) => {
        const [got, want] = await Promise.all([fake, limiter].map((each) => call(each).catch((error) => ({ error: error.constructor.name }))));
        if (!Array.isArray(want)) {
            assert.deepEqual(got, want, about);
            return;
        }
        assert.equal(got.length, want.length, about);
        want.forEach((charge, i) => { assertNear({ retryAfter: 0, wait: 0, ...got[i] }, { retryAfter: 0, wait: 0, ...charge }, about); });
    };
    for (let i = 0; i < 300; i++) {
        const names = Object.keys(slow).filter(() => random() < 0.3);
        const limits = names.map((name) => ({
            key: `settled:${name}:${Math.floor(i / 20)}`, limit: slow[name][Math.floor(random() * slow[name].length)], ...(name !== "leases" && random() < 0.3 && { cost: Math.floor(random() * 4) }),
        }));
        if (limits.length === 0) { continue; }
        const id = `id:${i}`, tokens = names.includes("leases") ? 1 : 1 + Math.floor(random() * 3), about = `${i}: ${tokens} of ${JSON.stringify(limits)}`;
        for (let again = 0; again < 2; again++) { // the second time, nothing is taken
            const got = await fake.all(limits, { tokens, id, remember: "1h" }), want = await limiter.all(limits, { tokens, id, remember: "1h" });
            assert.deepEqual([got.allowed, got.binding, got.limits.map((s) => s.remaining)], [want.allowed, want.binding, want.limits.map((s) => s.remaining)], about);
        }
        const charges = [Math.floor(random() * 6), limits.map(() => (random() < 0.3 ? null : Math.floor(random() * 6)))];
        for (let again = 0; again < 3; again++) {
            const charge = pick(charges), isCanceled = random() < 0.2;
            await assertAlike((each) => (isCanceled ? each.cancel(id) : each.settle(id, charge)), `${about}: ${isCanceled ? "canceled" : JSON.stringify(charge)}`);
        }
    }
});

test("policies warn, and show their usage, as the server", async (t) => {
    const fake = new FakeLimiter(), limiter = new Limiter(application, { whenDown: failClosed(), timeout: "10s" });
    t.after(() => { limiter.close(); });
    fake.clock.set(Date.now());
    const rules = [
        { key: "budget:{}", limit: "FW 300 @3650d HISTORY 2 WARN 80%" }, { key: "team:{}:{region}", limit: "FW 400 @3650d" }, { key: "tokens:{}", limit: "TB 500 7/9d WARN 50%" },
    ];
    fake.server.setPolicy("budget", rules);
    await application.call("RL.POLICY", "SET", "budget", ...rules.flatMap(({ key, limit: [a, b, , ...rest] }) => [a + b, key, ...rest.join("").split(" ")]));
    const random = numbers(5), fields = { region: "eu" }, both = (call) => Promise.all([fake, limiter].map(call));
    let warned = 0;
    for (let i = 0; i < 60; i++) {
        const id = `budget-${i}`, tokens = 1 + Math.floor(random() * 30), isKept = random() < 0.5, cost = Math.floor(random() * 40);
        const request = { tokens, fields, showWarn: i % 3 > 0, ...(isKept && { id, remember: "1h" }) };
        const [got, want] = await both((each) => each.check("budget", "acme", request));
        assert.deepEqual([got.allowed, got.binding, got.limits.map((s) => [s.remaining, s.warn])], [want.allowed, want.binding, want.limits.map((s) => [s.remaining, s.warn])], `${i}`);
        warned += want.limits.filter(({ warn }) => warn).length;
        if (isKept && random() < 0.7) {
            await both((each) => (cost % 5 === 0 ? each.cancel(id) : each.settle(id, cost)));
        }
        for (const caller of ["acme", "other"]) {
            const [ours, servers] = await both((each) => each.policyUsage("budget", caller, { fields }));
            assert.deepEqual(ours, servers, `${i}: ${caller}`);
        }
        const [ours, servers] = await both((each) => each.usage("budget:acme"));
        assert.deepEqual(ours, servers);
    }
    assert.ok(warned > 0);
});

test("a window that is over is settled in the history", async () => {
    const fake = new FakeLimiter(), limits = [{ key: "spend", limit: "FW 1000 @minute HISTORY 3" }];
    for (const [id, tokens, cost] of [["a", 200, 120], ["b", 40, undefined]]) {
        await fake.all(limits, { tokens, id, remember: "10m" });
        if (cost !== undefined) { await fake.settle(id, cost); }
    }
    fake.clock.advance("1m");
    await fake.all(limits, { tokens: 70, id: "c", remember: "10m" });
    fake.clock.advance("1m");
    await fake.allow("spend", "FW 1000 @minute HISTORY 3", 11);
    const before = await fake.usage("spend");
    assert.deepEqual(before.history.map(({ used, reserved }) => [used, reserved]), [[0, 70], [120, 40]]);
    await fake.settle("c", 30);
    await fake.cancel("b");
    const { used, reserved, history } = await fake.usage("spend");
    assert.deepEqual([used, reserved, history.map((w) => [w.used, w.reserved])], [11, 0, [[30, 0], [120, 0]]]);
    fake.clock.advance("4m");
    assert.equal(await fake.usage("spend"), null);
});

// The times at which the first token comes back, when all were taken at 00:00:00.4 on Saturday, 1 January 2000.
const back = {
    "a bucket": [perSecond(3), 334], "gcra": [Limit.gcra(2, 1, 2), 2000], "a window": [Limit.window(3, "5s"), 5000],
    "a minute": [Limit.window(3, "@minute"), 59_600], "a day": [Limit.window(3, "@day"), 86_399_600], "a week": [Limit.window(3, "@week"), 2 * 86_400_000 - 400],
    "a month": [Limit.window(3, "@month"), 31 * 86_400_000 - 400], "a quarter": [Limit.window(3, "@15m"), 899_600], "a log": [Limit.slidingLog(3, "7s"), 7000],
    "two counters": [Limit.slidingWindow(3, "10s"), 12_934], // a third of the next window
    "a rate that is no double": [Limit.parse("TB 3 0.1"), 10_000],
};

for (const [name, [limit, time]] of Object.entries(back)) {
    test(`time passes: ${name}`, async () => {
        const fake = new FakeLimiter({ whenDown: failClosed() });
        fake.clock.advance(400);
        assert.equal((await fake.allow("k", limit, 3)).remaining, 0);
        assert.equal((await fake.allow("k", limit)).retryAfter, time);
        fake.clock.advance(time - 1);
        assert.equal((await fake.allow("k", limit)).allowed, false);
        fake.clock.advance(1);
        assert.equal((await fake.allow("k", limit)).allowed, true);
    });
}

test("no token is lost among as many as there may be", async () => {
    const fake = new FakeLimiter(), limit = Limit.per(1_000_000_000_000, "3650d"); // doubles of nanoseconds lose tokens of 315 ns
    for (let i = 1; i <= 1000; i++) { assert.equal((await fake.allow("k", limit)).remaining, 1_000_000_000_000 - i); }
});

test("a wait sets the clock ahead", async () => {
    const fake = new FakeLimiter(), begun = fake.clock.now;
    for (const limit of [perMinute(1), Limit.window(1, "1m")]) {
        for (let i = 0; i < 4; i++) { await fake.wait(String(limit), limit); }
    }
    assert.equal(fake.clock.now - begun, 6 * 60_000);
    assert.equal((await fake.wait("queue", perMinute(1).queue(5))).wait, 0);
    assert.equal((await fake.wait("queue", perMinute(1).queue(5))).wait, 60_000);
    await assert.rejects(fake.wait("queue", perMinute(1).queue(5), { atMost: "30s" }), /60000 ms away/);
});

test("a paced fetch sets the clock ahead", async () => {
    const fake = new FakeLimiter(), begun = fake.clock.now, statuses = [200, 200, 429, 200];
    const answer = () => Promise.resolve(new Response("", { status: statuses.shift(), headers: { "Retry-After": "30" } }));
    const paced = pacedFetch(fake, perSecond(1).adaptive(1), { fetch: answer });
    const times = [];
    for (let i = 0; i < 4; i++) {
        await paced("https://api.example/items");
        times.push(fake.clock.now - begun);
    }
    assert.deepEqual(times, [0, 1000, 2000, 32_000]);
});

test("a reservation until the end of a block, and of its time", async () => {
    const fake = new FakeLimiter(), left = async (key, limit) => (await fake.peek(key, limit)).remaining + 1;
    fake.server.setPolicy("llm", [{ key: "tokens:{}", limit: "TB 100 1/d" }, { key: "calls:{}", limit: "FW 10 1m" }]);
    const reserved = await fake.reserving("llm", { caller: "7", tokens: 8, id: "a", remember: "10m" });
    reserved.settle(3);
    await reserved[Symbol.asyncDispose]();
    assert.deepEqual(reserved.charges.map(({ charged }) => charged), [3, 3]);
    assert.deepEqual([await left("tokens:7", "TB 100 1/d"), await left("calls:7", "FW 10 1m")], [97, 7]);
    await assert.rejects(fake.settle("a", 4), /settled or canceled with other amounts/);
    await assert.rejects(fake.check("llm", "7", { tokens: 9, id: "a", remember: "10m" }), /a request with other parameters/);
    await fake.check("llm", "7", { tokens: 5, id: "b", remember: "10m" });
    fake.clock.advance("1m");
    await fake.check("llm", "7", { tokens: 6 });
    assert.equal((await fake.cancel("b"))[1].remaining, 4); // nothing goes back to another window
    assert.equal(await left("tokens:7", "TB 100 1/d"), 91);
    fake.clock.advance("9m");
    assert.deepEqual([await fake.cancel("a"), await fake.settle("none", 1)], [null, null]);
});

test("policies, refunds and resets", async () => {
    const server = new FakeServer(), fake = new FakeLimiter({ server }), other = new FakeLimiter({ server });
    server.setPolicy("api", [{ key: "{}", limit: "3/day" }, { key: "team:{team}", limit: "FW 2 1h" }]);
    const check = (limiter, user) => limiter.check("api", user, { fields: { team: "ä" } });
    assert.ok((await check(fake, "1")).allowed && (await check(other, "2")).allowed);
    const denied = await check(fake, "1");
    assert.ok(!denied.allowed && denied.binding === 1 && denied.limits[0].remaining === 2);
    assert.equal(await fake.refund("team:ä", 5), 2);
    assert.equal(await fake.refund("none", 5), null);
    assert.deepEqual([await fake.reset("1"), await fake.reset("1")], [true, false]);
    assert.equal((await check(fake, "1")).limits[0].remaining, 2);
    await assert.rejects(fake.check("api", "1"), /asks for the field 'team'/);
    await assert.rejects(fake.check("none", "1"), RefusedError);
});

test("errors", async () => {
    const fake = new FakeLimiter();
    await fake.allow("k", perDay(1));
    await assert.rejects(fake.allow("k", Limit.window(1, "@day")), /WRONGTYPE the key belongs to a limiter of TB/);
    await assert.rejects(fake.allow("k", perDay(1).member("a")), /the fake server has no FS.ACQUIRE/);
    assert.throws(() => fake.server.execute(["RL.ALL", "TB", "a", "1", "1/s", "BLOCK", "1s"]), /the fake server has no BLOCK in RL.ALL/);
    await assert.rejects(fake.all([{ key: "a", limit: "1/s" }, { key: "a", limit: "1/s" }]), /the same key twice/);
    assert.throws(() => fake.server.execute(["CL.THROTTLE", "c", "1", "1", "0"]), /ERR must be an integer between 1 and 1000000000000, got '0'/);
    assert.throws(() => fake.server.execute(["AD.REPORT", "k", "1", "x"]), /ERR must be an integer between 0 and 1000000000000000000, got 'x'/);
    await assert.rejects(fake.report("k", { good: 1 }), /WRONGTYPE the key belongs to a limiter of TB/);
    assert.throws(() => fake.server.execute(["RL.TOP"]), /has no RL.TOP: start a real one for this test, with startServer/);
    assert.throws(() => fake.server.execute(["RL.POLICY", "LIST"]), /use setPolicy, or a real server/);
    assert.throws(() => Limit.window(1, "@day", { tz: "Mars/Olympus" }), /tz: must be a time zone that this Node\.js knows, such as Europe\/Berlin, got 'Mars\/Olympus'/);
    assert.throws(() => { fake.clock.advance(-1); }, InvalidError);
    assert.throws(() => { fake.clock.set(0); }, InvalidError);
});

test("a request takes one place of a lease, and no peek has an id", () => {
    const server = new FakeServer();
    assert.equal(replyOf(server, "RL.ALL CC k 3 30s h1 TOKENS 5".split(" ")), "[5 -1 0 [[3 2 30000]]]");
    assert.equal(replyOf(server, "RL.ALL TB k2 3 1/s AS id FOR 1m PEEK".split(" ")), "-ERR PEEK: cannot be combined with AS");
});

test("the server is down", async () => {
    const fake = new FakeLimiter({ whenDown: localShare(1 / 2) });
    fake.server.isDown = true;
    const results = [];
    for (let i = 0; i < 7; i++) { results.push(await fake.allow("k", "10/minute")); }
    assert.deepEqual(results.map(({ allowed, source }) => `${allowed} ${source}`), [...Array(5).fill("true local"), ...Array(2).fill("false local")]);
    fake.clock.advance(results[6].retryAfter);
    assert.ok((await fake.allow("k", "10/minute")).allowed);
    fake.server.isDown = false;
    assert.equal((await fake.allow("k", "10/minute")).source, "server");
});

test("it loads as CommonJS", async () => {
    const commonjs = createRequire(import.meta.url)("@stintdb/client/testing");
    assert.deepEqual(Object.keys(commonjs).sort(), Object.keys(await import("@stintdb/client/testing")).sort());
});

test("the example of the README", () => {
    const [, section] = readFileSync(new URL("../README.md", import.meta.url), "utf8").split("\n## Tests of your code\n");
    const [, program] = /^```js\n([^]*?)```/m.exec(section);
    assert.match(program, /FakeLimiter/);
    execFileSync("node", ["--input-type=module", "-e", program], { cwd: new URL("..", import.meta.url), timeout: 60_000 });
});
