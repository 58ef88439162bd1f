// The fake makes the server's decisions.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { after, test } from "node:test";
import { setTimeout } from "node:timers/promises";

import { Redis } from "ioredis";

import { InvalidError, Limit, Limiter, RefusedError, failClosed, pacedFetch, localShare, perDay, perMinute, perSecond } from "@stintdb/client";
import { Clock, FakeLimiter, FakeServer } from "@stintdb/client/testing";
import { forgetLate } from "../dist/esm/limiter.js";
import { binary, startServer } from "./server.mjs";

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
    assert.equal(played, 1800);
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
    bucket: ["TB 20 7/9d", "TB 30 11/9d"], window: ["FW 20 8d"], year: ["FW 20 @year"], leases: ["CC 3 9d a", "CC 3 9d b", "CC 3 9d c", "CC 3 9d d", "CC 3 9d e"],
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
    const limiter = new Limiter(application, { whenDown: failClosed(), timeout: "10s" }), limits = [{ key: "late", limit: "TB 100 1/d" }];
    t.after(() => { limiter.close(); });
    await limiter.settle("late:earlier", 3); // as another test may
    forgetLate();
    mock.resetCalls();
    for (const [id, cost] of [["late:canceled"], ["late:first", 3], ["late:second", 3]]) {
        const reserved = await limiter.reserving(limits, { tokens: 8, id, remember: 1 });
        await setTimeout(50);
        if (cost !== undefined) { reserved.settle(cost); }
        await reserved[Symbol.asyncDispose]();
        assert.equal(reserved.charges, null);
        assert.match(reserved.error.message, /all that was reserved stays taken/);
    }
    assert.equal(await limiter.settle("late:second", 3), null);
    assert.equal(mock.calls.length, 1);
    assert.match(mock.calls[0].arguments[0], /the request "late:first" that was settled/);
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
    const random = numbers(7);
    for (let i = 0; i < 400; i++) {
        fake.clock.set(Date.now()); // the server's goes on, for a minute on a machine that is busy
        const names = Object.keys(slow).filter(() => random() < 0.6);
        const limits = names.map((name) => {
            const cost = name === "leases" ? random() < 0.3 ? 0 : undefined : random() < 0.3 ? Math.floor(random() * 4) : undefined;
            const limit = slow[name][Math.floor(random() * slow[name].length)];
            return { key: `several:${name}:${Math.floor(i / 20)}`, limit, ...(cost !== undefined && { cost }) };
        });
        if (limits.length === 0) { continue; }
        const options = { tokens: names.includes("leases") ? 1 : 1 + Math.floor(random() * 3), peek: random() < 0.2 };
        const got = await fake.all(limits, options), want = await limiter.all(limits, options), about = `${i}: ${JSON.stringify(limits)} ${JSON.stringify(options)}`;
        assert.equal(want.source, "server");
        const near = { resetAfter: 0 };
        assertNear({ ...got, ...near, limits: 0 }, { ...want, ...near, limits: 0 }, about);
        want.limits.forEach((state, j) => { assertNear({ retryAfter: 0, wait: 0, ...got.limits[j] }, { retryAfter: 0, wait: 0, ...state }, about); });
    }
});

// The times at which the first token comes back, when all were taken at 00:00:00.4 on Saturday, 1 January 2000.
const back = {
    "a bucket": [perSecond(3), 334], "a window": [Limit.window(3, "5s"), 5000], "a minute": [Limit.window(3, "@minute"), 59_600],
    "a day": [Limit.window(3, "@day"), 86_399_600], "a week": [Limit.window(3, "@week"), 2 * 86_400_000 - 400],
    "a month": [Limit.window(3, "@month"), 31 * 86_400_000 - 400], "three months": [Limit.window(3, "@quarter"), 91 * 86_400_000 - 400],
    "a year": [Limit.window(3, "@year"), 366 * 86_400_000 - 400], "a quarter of an hour": [Limit.window(3, "@15m"), 899_600],
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
    await assert.rejects(fake.wait("bucket", perMinute(2), { tokens: 2, atMost: "30s" }).then(() => fake.wait("bucket", perMinute(2), { atMost: "15s" })), /there are 15000 ms/);
});

test("a paced fetch sets the clock ahead", async () => {
    const fake = new FakeLimiter(), begun = fake.clock.now, statuses = [200, 200, 200];
    const answer = () => Promise.resolve(new Response("", { status: statuses.shift() }));
    const paced = pacedFetch(fake, perSecond(1), { fetch: answer });
    const times = [];
    for (let i = 0; i < 3; i++) {
        await paced("https://api.example/items");
        times.push(fake.clock.now - begun);
    }
    assert.deepEqual(times, [0, 1000, 2000]);
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
    await assert.rejects(fake.all([{ key: "a", limit: "1/s" }, { key: "a", limit: "1/s" }]), /the same key twice/);
    assert.throws(() => fake.server.execute(["TB.ACQUIRE", "c", "0", "1/s", "1"]), /ERR must be an integer between 1 and 1000000000000, got '0'/);
    assert.throws(() => Limit.window(1, "@day", { tz: "Mars/Olympus" }), /tz: must be a time zone that this Node\.js knows, such as Europe\/Berlin, got 'Mars\/Olympus'/);
    assert.throws(() => { fake.clock.advance(-1); }, InvalidError);
    assert.throws(() => { fake.clock.set(0); }, InvalidError);
});

test("what a plan cannot give comes from credits, and a denial says what would help", async () => {
    const fake = new FakeLimiter(), plan = [{ key: "hours", limit: "FW 100 5h" }, { key: "credits", limit: Limit.balance(), orElse: true }];
    for (let i = 0; i < 2; i++) { // as webhooks do
        assert.equal(await fake.addCredits("credits", { id: "payment:81", credits: 50 }), 50);
    }
    const { limits } = await fake.all(plan, { tokens: 130, split: true });
    assert.deepEqual(limits.map(({ granted }) => granted), [100, 30]);
    assert.equal((await fake.credits("credits")).balance, 20);
    const denied = await fake.all(plan, { tokens: 30 });
    assert.deepEqual([denied.allowed, denied.needsPayment, denied.retryAfter], [false, undefined, 18_000_000]);
    assert.equal((await fake.all(plan, { tokens: 130 })).needsPayment, true);
});

test("what the fake lacks is an error that names the remedy", async () => {
    const fake = new FakeLimiter();
    const remedy = "run this test on a real server, with startServer";
    for (const [command, what] of [
        ["RL.TOP", "RL.TOP"], ["AD.ACQUIRE k 20 2/1s 50/1s 1", "AD.ACQUIRE"], ["RL.USAGE k", "RL.USAGE"], ["RL.POLICY LIST", "RL.POLICY"],
        ["RL.ALL TB a 1 1/s BLOCK 1s", "BLOCK in RL.ALL"], ["RL.ALL TB a 1 1/s AS id FOR 1m", "AS in RL.ALL"], ["RL.ALL SL a 1 1s", "SL in RL.ALL"],
        ["RL.ALL PENALTY a 3 1m 10m", "PENALTY in RL.ALL"], ["SW.ACQUIRE a 1 1s 1", "SW without SEGMENTS"], ["BAL.ADD a 1 AS b EXPIRE 2000000000", "EXPIRE in BAL.ADD"],
        ["RL.CHECK p a 1 KEEP 5", "KEEP in RL.CHECK"], ["FW.ACQUIRE k 10 @month 1 TZ UTC", "TZ in FW.ACQUIRE"],
    ]) {
        const says = replyOf(fake.server, command.split(" "));
        assert.ok(says.startsWith(`-ERR the fake server has no ${what}: it knows `) && says.endsWith(remedy), says);
    }
    await assert.rejects(fake.allow("k", perDay(1).member("a")), /the fake server has no FS.ACQUIRE/);
    fake.server.setPolicy("warns", [{ key: "{}", limit: "FW 9 @day WARN 80%" }]);
    await assert.rejects(fake.check("warns", "1"), /the fake server has no limit FW 9 @day WARN 80%/);
});

test("a request takes one place of a lease", () => {
    assert.equal(replyOf(new FakeServer(), "RL.ALL CC k 3 30s h1 TOKENS 5".split(" ")), "[5 -1 0 [[3 2 30000]]]");
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

test("the examples of the README", () => {
    const [, section] = readFileSync(new URL("../README.md", import.meta.url), "utf8").split("\n## Tests of your code\n");
    const programs = [...section.matchAll(/^```js\n([^]*?)```/gm)].map(([, program]) => program);
    assert.equal(programs.length, 2);
    for (const program of programs) {
        const env = { ...process.env, STINTTEST_BINARY: binary() };
        execFileSync("node", ["--input-type=module", "-e", program.replace("failClosed() }", 'failClosed(), timeout: "1m" }')],
            { cwd: new URL("..", import.meta.url), env, timeout: 60_000 });
    }
});
