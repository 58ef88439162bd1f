// Options that do not exist, from programs without types: each is refused by its name, before anything is sent or opened.
import assert from "node:assert/strict";
import { test } from "node:test";

import { Redis } from "ioredis";

import { InvalidError, Limiter, failClosed, failOpen, pacedFetch, perSecond } from "../dist/esm/index.js";
import { FakeLimiter, FakeServer, startServer } from "../dist/esm/testing/index.js";
import { rateLimit as forExpress } from "../dist/esm/web/express.js";
import { rateLimit as forHono } from "../dist/esm/web/hono.js";
import { FakeDriver } from "./fake-driver.mjs";
import { binary } from "./server.mjs";

const client = { duplicate: () => assert.fail("a connection was opened") };
const driver = new FakeDriver(() => assert.fail("a command was sent"));
const limiter = new Limiter(driver, { whenDown: failOpen() }), limit = perSecond(10);
const tree = { key: "k", assured: limit, ceiling: limit, under: [{ key: "root", limit }] };

const wrong = [
    [() => new Limiter(client, { whenDown: failOpen(), timout: 5 }), "timout: is no option of a limiter, got 5; did you mean timeout?"],
    [() => new Limiter(client, { when_down: failOpen() }), /^when_down: is no option of a limiter, got .*; did you mean whenDown\?$/],
    [() => new Limiter(client, { whenDown: failOpen(), retries: 3 }), "retries: is no option of a limiter, got 3; the options are whenDown, timeout, connectTimeout, breaker, onBreaker, onRefusedLogin, assumed"],
    [() => new Limiter(client, { whenDown: failOpen(), breaker: { cooldown: 5 } }), "cooldown: is no option of a breaker, got 5; did you mean coolDown?"],
    [() => new Limiter(client, { whenDown: failOpen(), constructor: 1 }), /^constructor: is no option of a limiter, got 1; the options are/],
    [() => new Limiter(client, 20), /^the options of a limiter must be an object such as \{ whenDown: … \}, got 20$/],
    [() => limiter.all([{ key: "k", limit }], { token: 2 }), "token: is no option of a request, got 2; did you mean tokens?"],
    [() => limiter.all([{ key: "k", limit }], 2), "the options of a request must be an object such as { tokens: … }, got 2"],
    [() => limiter.all([{ key: "k", limit }], null), "the options of a request must be an object such as { tokens: … }, got null"],
    [() => limiter.all([{ key: "k", limit, costs: 2 }]), "costs: is no option of one of several limits, got 2; did you mean cost?"],
    [() => limiter.check("p", "u", { field: { a: "b" } }), "field: is no option of a check, got { a: 'b' }; did you mean fields?"],
    [() => limiter.check("p", "u", 3), "the options of a check must be an object such as { tokens: … }, got 3"],
    [() => limiter.wait("k", limit, { at_most: "1s" }), "at_most: is no option of wait, got '1s'; did you mean atMost?"],
    [() => limiter.reserving("p", { id: "x", remember: "1m", caler: "u" }), "caler: is no option of reserving, got 'u'; did you mean caller?"],
    [() => limiter.report("k", { god: 1 }), "god: is no option of a report, got 1; did you mean good?"],
    [() => limiter.allowClass({ ...tree, ceil: 5 }), "ceil: is no option of a class, got 5; did you mean ceiling?"],
    [() => limiter.allowClass({ ...tree, under: [{ key: "root", limits: limit }] }), /^limits: is no option of an ancestor, got .*; did you mean limit\?$/],
    [() => limiter.lease({ maxKey: 5 }), "maxKey: is no option of a lease, got 5; did you mean maxKeys?"],
    [() => pacedFetch(limiter, limit, { maxWait: 5 }), /^maxWait: is no option of pacedFetch, got 5; /],
    [() => pacedFetch(limiter, limit, { report: { good: 5 } }), "good: is no option of the reports of pacedFetch, got 5; the options are every, down, up"],
    [() => forExpress(limiter, { name: "n", limit, costs: () => 2 }), /^costs: is no option of the middleware, got .*; did you mean cost\?$/],
    [() => forExpress(limiter, { name: "n", limit, remote: () => "" }), /^remote: is no option of the middleware, got /],
    [() => forHono(limiter, { name: "n", limit, remotes: () => "" }), /^remotes: is no option of the middleware, got .*; did you mean remote\?$/],
    [() => new FakeLimiter({ serve: 1 }), "serve: is no option of a fake limiter, got 1; did you mean server?"],
    [() => new FakeServer().setPolicy("p", [{ key: "k", limit, cost: 2 }]), "cost: is no option of a rule of a fake policy, got 2; the options are key, limit"],
    [() => startServer({ flag: [] }), "flag: is no option of startServer, got []; did you mean flags?"],
];

for (const [call, message] of wrong) {
    test(String(message), () => assert.rejects(async () => call(), (error) => {
        assert.ok(error instanceof InvalidError, String(error));
        assert[message instanceof RegExp ? "match" : "equal"](error.message, message);
        return true;
    }));
}

test("all options that exist are taken", async () => {
    const options = {
        whenDown: failOpen(), timeout: "1m", breaker: { failures: 5, coolDown: 5 }, onBreaker: () => undefined, onRefusedLogin: () => undefined, assumed: {},
    };
    const server = new FakeServer(), fake = new FakeLimiter({ server, ...options });
    server.setPolicy("p", [{ key: "{tenant}:{}", limit }]);
    assert.ok((await fake.check("p", "u", { fields: { tenant: "t" } })).allowed);
    assert.ok((await fake.wait("w", limit, { tokens: 1, atMost: "1s", signal: new AbortController().signal })).allowed);
    fake.close();
});

test("all options that only a server knows are taken", async (t) => {
    const server = await startServer({ binary: binary() }), redis = new Redis(server.port);
    const real = new Limiter(redis, { whenDown: failClosed(), timeout: "1m" });
    t.after(async () => { real.close(); redis.disconnect(); await server.stop(); });
    assert.ok((await real.all([{ key: "k", limit, cost: 1, keep: 2 }], { tokens: 1, peek: true, keep: 1 })).allowed);
    assert.ok((await real.all([{ key: "of-x", limit }], { id: "x", remember: "1m" })).allowed);
    assert.ok((await real.all([{ key: "k", limit }], { maxWait: "1s" })).allowed);
    await redis.call(..."RL.POLICY SET p TB {tenant}:{} 10 10/s".split(" "));
    const reserved = await real.reserving("p", { id: "y", remember: "1m", caller: "u", fields: { tenant: "t" } });
    assert.ok(reserved.allowed);
    assert.ok(await real.allow("a", limit.adaptive(1)));
    assert.ok(await real.report("a", { good: 1, bad: 1, every: "1s", down: 80, up: 5, pause: "1s" }));
    assert.ok((await real.allowClass({ ...tree, key: "class" })).allowed);
    await real.lease({ ahead: 100, maxKeys: 5 }).close();
    pacedFetch(real, limit, { fetch, key: () => "k", atMost: "1s", maxPause: "1d", report: { every: "1s", down: 80, up: 5 }, onLostReport: () => undefined });
    forHono(real, { name: "n", limit, key: () => "k", cost: () => 1, onError: () => undefined, remote: () => "" });
});
