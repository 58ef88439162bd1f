// Plays the vectors that the clients in all languages share, through each driver. Commands, results and errors are those of the Go client.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, test } from "node:test";

import { Redis } from "ioredis";
import { createClient } from "redis";

import { InvalidError, Limit, Limiter, Prices, RefusedError, UnauthenticatedError, UnavailableError, failClosed, failOpen, localShare } from "../dist/esm/index.js";
import { exactDuration, exactRate, parseRate } from "../dist/esm/rates.js";
import { Scripted } from "./scripted.mjs";

const vectors = ["vectors", "shared", "usage", "balance"].flatMap((name) => JSON.parse(readFileSync(new URL(`../../vectors/${name}.json`, import.meta.url), "utf8")));
const policies = { fail_open: failOpen(), fail_closed: failClosed(), local_share: localShare(0.5) };

/** The vectors and the parts of results that are not played here, with the reasons. */
const exempt = [
    { isIn: (v) => v.call === "http", because: "web.test.mjs plays them through each framework" },
    { isIn: (v) => v.result.source === "local", part: "reset_after_ms", because: "it depends on the clock" },
];
const isPlayed = (v, part) => !exempt.some((e) => e.part === part && e.isIn(v));

const server = new Scripted(), port = await server.listen();
const applications = { ioredis: new Redis({ port, lazyConnect: true }), "node-redis": createClient({ socket: { port, host: "127.0.0.1" } }) };
after(() => {
    applications.ioredis.disconnect();
    server.close();
});

function limitOf(v) {
    const limit = v.warn_percent === undefined ? unwarned(v) : unwarned(v).warn(v.warn_percent);
    return v.spread ? limit.spread() : limit;
}

function unwarned(v) {
    const rate = () => Limit.per(v.count, v.period_ms);
    switch (v.algorithm) {
        case "TB": return rate().burst(v.tokens);
        case "LQ": return rate().queue(v.tokens);
        case "CL": return Limit.gcra(v.tokens - 1, v.count, v.period_ms / 1000);
        case "FW": return Limit.window(v.tokens, v.window, given({ history: v.history, rollover: v.rollover_percent, tz: v.zone, from: v.from }));
        case "SW": return Limit.slidingWindow(v.tokens, v.period_ms, given({ segments: v.segments }));
        case "SL": return Limit.slidingLog(v.tokens, v.period_ms);
        case "CC": return Limit.concurrency(v.tokens, v.period_ms, v.member);
        case "BAL": return Limit.balance();
        case "PENALTY": return Limit.penalty(v.tokens, v.period_ms, v.ban_ms, given({ doubling: v.longest_ban_ms }));
        case "FS": return rate().burst(v.tokens).member(v.member ?? "", v.weight);
        case "AD": return rate().burst(v.tokens).adaptive(v.least ?? 0);
        default: throw new Error(`unknown algorithm ${v.algorithm}`);
    }
}

/** A key of any bytes, as the vectors write it. */
const raw = (text) => (text.startsWith("hex:") ? Buffer.from(text.slice(4), "hex") : text);

const given = (all) => Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));

/** The options of a request that a vector has. */
function options(v) {
    return given({ tokens: v.tokens, keep: v.keep, maxWait: v.max_wait_ms, id: v.id, remember: v.remember_ms, fields: v.fields, showWarn: v.show_warn, split: v.split });
}

const keyed = ({ key, limit, cost, keep, or_else: orElse }) => ({ key: raw(key), limit: limitOf(limit), ...given({ cost, keep, orElse }) });

async function play(limiter, v) {
    const tokens = v.tokens ?? 0, key = raw(v.key ?? "");
    switch (v.call) {
        case "allow": return await limiter.allow(key, limitOf(v.limit), tokens);
        case "allow_at_most": return await limiter.allowAtMost(key, limitOf(v.limit), tokens);
        case "peek": return await limiter.peek(key, limitOf(v.limit), tokens);
        case "force": return await limiter.force(key, limitOf(v.limit), tokens);
        case "all": return await limiter.all((v.limits ?? []).map(keyed), options(v));
        case "check": return await limiter.check(v.policy, key, options(v));
        case "extend": return await limiter.extend(v.id, v.number, tokens, given({ split: v.split }));
        case "release": return { known: await limiter.release(key, v.limit.member) };
        case "add_credits": {
            const expires = v.expires_s === undefined ? undefined : new Date(v.expires_s * 1000);
            return { balance: await limiter.addCredits(key, { id: v.id, credits: tokens, ...given({ expires }) }) };
        }
        case "credits": {
            const credits = await limiter.credits(key);
            const grants = credits?.grants.map(({ left, expires }) => [left, expires === null ? null : expires.getTime() / 1000]);
            return credits === null ? { known: false } : { known: true, balance: credits.balance, grants };
        }
        case "settle": return charged(await limiter.settle(v.id, tokens));
        case "settle_costs": return charged(await limiter.settle(v.id, v.costs.map((cost) => (cost < 0 ? null : cost))));
        case "cancel": return charged(await limiter.cancel(v.id));
        case "refund": {
            const remaining = await limiter.refund(key, tokens);
            return remaining === null ? { known: false } : { known: true, remaining };
        }
        case "usage": return usage(await limiter.usage(key));
        case "policy_usage": {
            const all = await limiter.policyUsage(v.policy, key, v.fields === undefined ? {} : { fields: v.fields });
            return { limits: all.map((u) => usage(u).usage) };
        }
        case "members": return { members: await limiter.members(key) };
        case "class": case "peek_class": {
            const tree = { key: v.class.key, assured: limitOf(v.class.assured), ceiling: limitOf(v.class.ceiling), under: (v.class.under ?? []).map(keyed) };
            return await (v.call === "class" ? limiter.allowClass(tree, tokens) : limiter.peekClass(tree, tokens));
        }
        case "report": {
            const { good, bad, every_ms: every, down_percent: down, up_percent: up, pause_ms: pause } = v.report;
            const pace = await limiter.report(v.key, { good, bad, every, down, up, pause });
            return pace === null ? { known: false } : { known: true, per_second: pace.perSecond, pause_ms: pace.pause };
        }
        default: throw new Error(`unknown call ${v.call}`);
    }
}

function usage(u) {
    if (u === null) { return { known: false }; }
    const { start, end, history, ...rest } = u;
    return { known: true, usage: { ...rest, start_ms: start ?? 0, end_ms: end ?? 0, history: history.map((w) => [w.start, w.end, w.used, w.reserved]) } };
}

function charged(charges) {
    return charges === null ? { known: false } : { known: true, charges: charges.map(({ resetAfter, ...charge }) => ({ ...charge, reset_after_ms: resetAfter })) };
}

function kind(error) {
    if (error instanceof UnavailableError && error.reason === "uncertain") { return "uncertain"; }
    for (const [name, type] of [["unauthenticated", UnauthenticatedError], ["unavailable", UnavailableError], ["invalid", InvalidError], ["refused", RefusedError]]) {
        if (error instanceof type) { return name; }
    }
    assert.equal(error, undefined);
    return "";
}

function shown(r) {
    if (!("allowed" in r)) { return r; }
    const { allowed, granted, retryAfter: retry_after_ms, wait: wait_ms, source } = r;
    const one = (s) => ({ limit: s.limit, remaining: s.remaining, reset_after_ms: s.resetAfter, ...(s.warn && { warn: true }), ...(s.granted > 0 && { granted: s.granted }) });
    const all = { ...(r.needsPayment && { needs_payment: true }), allowed, granted, retry_after_ms, wait_ms, source };
    return "binding" in r ? { ...all, binding: r.binding, limits: r.limits.map(one) } : { ...all, ...one(r) };
}

const texts = JSON.parse(readFileSync(new URL("../../vectors/limits.json", import.meta.url), "utf8"));

test("limits as text", () => {
    for (const [text, spec] of Object.entries(texts.limits)) {
        assert.equal(String(Limit.parse(text)), spec);
    }
    for (const text of texts.refused) {
        assert.throws(() => Limit.parse(text), InvalidError, text);
    }
});

test("prices", () => {
    const given = JSON.parse(readFileSync(new URL("../../vectors/prices.json", import.meta.url), "utf8")), prices = new Prices(given.prices);
    for (const { model, usage, cost } of given.costs) {
        assert.equal(prices.cost(model, usage), cost, JSON.stringify(usage));
    }
    for (const { model, usage } of given.refused) {
        assert.throws(() => prices.cost(model, usage), InvalidError);
    }
    for (const price of given.refused_prices) {
        assert.throws(() => new Prices({ model: { kind: price } }), InvalidError, price);
    }
});

const numbers = JSON.parse(readFileSync(new URL("../../vectors/numbers.json", import.meta.url), "utf8"));

test("numbers as programs print them", () => {
    const equal = ([a, b], [c, d]) => a * d === b * c; // quotients
    for (const [text, decimal] of Object.entries(numbers.rates)) {
        const read = exactRate(text), written = exactRate(decimal), { count, period } = parseRate(text);
        assert.ok(equal(read.tokens, written.tokens) && equal(read.period, written.period), text);
        assert.ok(Math.abs(count / Number(decimal.split(/[/ ]/)[0]) - 1) < 1e-15 && period === parseRate(decimal).period, text);
    }
    for (const [text, decimal] of Object.entries(numbers.durations)) {
        assert.equal(exactDuration(text), exactDuration(decimal), text);
    }
    const refused = (texts, read, message) => { for (const text of texts) { assert.throws(() => read(text), { name: "InvalidError", message }, text); } };
    refused(numbers.rates_beyond, exactRate, /above 0 and at most/);
    refused(numbers.not_rates, exactRate, /a rate must be such as/);
    refused(numbers.not_durations, exactDuration, /a duration must be between/);
    assert.equal(parseRate(`0.${"0".repeat(400)}1e401`).count, 1);
    assert.equal(parseRate(`1.${"0".repeat(900)}`).count, 1);
});

test("each exemption is of a vector", () => {
    for (const e of exempt) { assert.ok(vectors.some((v) => e.isIn(v)), e.because); }
});

async function playThrough(application, v) {
    server.reply = v.reply;
    server.commands = [];
    const limiter = new Limiter(application, { whenDown: policies[v.when_down], timeout: "10s" });
    let result, error;
    try {
        result = await play(limiter, v);
        error = result.cause;
    } catch (thrown) {
        error = thrown;
    } finally {
        limiter.close();
    }
    assert.equal(kind(error), v.error, String(error));
    assert.deepEqual(server.commands, v.command ? [v.command] : []);
    if (!result) {
        assert.ok(!v.result.allowed); // where Go returns an error and a denial, this client throws
        return;
    }
    const got = shown(result);
    if (v.result.known === false) {
        assert.equal(got.known, false);
        return;
    }
    for (const [part, value] of Object.entries(v.result)) {
        if (isPlayed(v, part)) { assert.deepEqual(got[part], value, part); }
    }
}

for (const [driver, application] of Object.entries(applications)) {
    for (const v of vectors.filter((each) => isPlayed(each))) {
        test(`${driver}: ${v.name}`, () => playThrough(application, v));
    }
}
