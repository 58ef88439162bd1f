// Arguments of wrong types, from programs without types: each is refused by its name, with its value, before anything is sent or opened.
import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect } from "node:util";

import { InvalidError, Limit, Limiter, failOpen, localShare, perSecond } from "../dist/esm/index.js";
import { rateLimit } from "../dist/esm/web/express.js";
import { shortKey } from "../dist/esm/key.js";
import { FakeDriver } from "./fake-driver.mjs";

const client = { duplicate: () => assert.fail("a connection was opened") };
const driver = new FakeDriver(() => assert.fail("a command was sent"));
const limiter = new Limiter(driver, { whenDown: failOpen() }), limit = perSecond(10);
const make = (options) => new Limiter(client, { whenDown: failOpen(), ...options });

const strange = [true, [], {}, NaN, -1, Symbol("x"), 10n];
const noDuration = [null, ...strange, "5"], given = [null, undefined];
const noCount = [null, ...strange, "5", 5.5];
const noAmount = [...noCount, Infinity, -Infinity, "PEEK", 2 ** 60];
const noPart = [...strange, 5.5, Infinity, "PEEK", "", "-1", "+1", "1.5", "5 PEEK", "101%", "1.2345%", "%"];
const noText = [...given, 5, true, [], {}, Symbol("x")];

const wrong = {
    "client": [(v) => new Limiter(v, { whenDown: failOpen() }), [...given, "redis://localhost", 5, {}]],
    "timeout": [(v) => make({ timeout: v }), noDuration.slice(1)],
    "failures": [(v) => make({ breaker: { failures: v } }), [...noCount.slice(1), 0]],
    "coolDown": [(v) => make({ breaker: { coolDown: v } }), [...strange, "5", Infinity]],
    "onBreaker": [(v) => make({ onBreaker: v }), [5, "x", {}]],
    "onRefusedLogin": [(v) => make({ onRefusedLogin: v }), [5]],
    "assumed": [(v) => make({ assumed: v }), [5, "x", [], { p: "5/s" }]],
    "limit": [(v) => make({ assumed: { p: [v] } }), [null, 5]],
    "limit:": [(v) => Limit.parse(v), [...given, 5, ...strange]],
    "period": [(v) => Limit.per(5, v), [...noDuration, undefined]],
    "window": [(v) => Limit.window(5, v), [...noDuration, undefined]],
    "tokens": [(v) => perSecond(v), [...noCount, undefined]],
    "ttl": [(v) => Limit.concurrency(5, v, "job"), [...noDuration, undefined]],
    "holder": [(v) => Limit.concurrency(5, "1m", v), [...noText, ""]],
    "maxBurst": [(v) => Limit.gcra(v, 5, 60), noCount],
    "key": [(v) => limit.member(v), noText],
    "weight": [(v) => limit.member("a", v), noCount],
    "localShare": [(v) => localShare(v), [...noCount, 0]],
    "tokens:": [(v) => limiter.allow("k", limit, v), noAmount],
    "limits": [(v) => limiter.all(v), [...given, 5, "x", {}, true]],
    "limits:": [(v) => limiter.reserving(v, { id: "x", remember: "1m" }), [...given, 5, {}]],
    "keep": [(v) => limiter.all([{ key: "k", limit, keep: v }]), noPart],
    "keep:": [(v) => limiter.check("p", "u", { keep: v }), noPart],
    "tokens:::": [(v) => limiter.check("p", "u", { tokens: v }), noAmount.slice(1)],
    "tokens::::": [(v) => limiter.refund("k", v), noAmount],
    "cost": [(v) => limiter.all([{ key: "k", limit, cost: v }]), noAmount],
    "maxWait": [(v) => limiter.all([{ key: "k", limit }], { maxWait: v }), noDuration],
    "remember": [(v) => limiter.all([{ key: "k", limit }], { id: "x", remember: v }), noDuration],
    "policy": [(v) => limiter.check(v, "u"), [...noText, ""]],
    "fields": [(v) => limiter.check("p", "u", { fields: v }), [5, "x", true, ["a"]]],
    "tokens::": [(v) => limiter.settle("id", v), [undefined, ...noAmount.filter((v) => !Array.isArray(v))]],
    "costs": [(v) => limiter.settle("id", [v]), [undefined, ...noAmount.slice(1)]],
    "holder:": [(v) => limiter.release("k", v), [...noText, ""]],
    "atMost": [(v) => limiter.wait("k", limit, { atMost: v }), noDuration],
    "good": [(v) => limiter.report("k", { good: v }), noCount],
    "every": [(v) => limiter.report("k", { every: v }), noDuration],
    "down": [(v) => limiter.report("k", { down: v }), [null, ...strange, "5"]],
    "under": [(v) => limiter.allowClass({ key: "k", assured: limit, ceiling: limit, under: v }), [...given, 5, "x", {}]],
    "maxKeys": [(v) => limiter.lease({ maxKeys: v }), noCount.slice(1)],
    "name": [(v) => rateLimit(limiter, { name: v, limit }), [...noText, ""]],
    "onError": [(v) => rateLimit(limiter, { name: "n", limit, onError: v }), [5]],
};

for (const [argument, [call, values]] of Object.entries(wrong)) {
    const name = argument.replace(/:*$/, "");
    for (const value of values) {
        test(`${name} ${inspect(value)}`, () => assert.rejects(async () => call(value), (error) => {
            assert.ok(error instanceof InvalidError, String(error));
            assert.ok(error.message.startsWith(`${name}:`), error.message);
            assert.match(error.message, /, got /);
            return true;
        }));
    }
}

test("options that are left out as null", () => {
    new Limiter(driver, { whenDown: failOpen(), timeout: null, breaker: { failures: null, coolDown: null }, onBreaker: null, assumed: null }).close();
    new Limiter(driver, { whenDown: failOpen(), breaker: { failures: Infinity } }).close();
});

test("keys with halves of surrogate pairs stay apart", () => {
    const forms = ["\ud800", "\ud801", "\udc00", "a\ud800", "\ufffd", `${"x".repeat(300)}\ud800`, `${"x".repeat(300)}\ud801`].map((key) => Buffer.from(shortKey(key)).toString("hex"));
    assert.equal(new Set(forms).size, forms.length);
    assert.equal(forms[0], "eda080");
    assert.equal(shortKey("\u{1f600}"), "\u{1f600}");
});
