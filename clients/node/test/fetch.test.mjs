// Fetch within the limit of another service.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, test } from "node:test";

import { Redis } from "ioredis";

import { DeniedError, Limiter, failClosed, failOpen, perHour, perSecond, pacedFetch } from "../dist/esm/index.js";
import { FakeDriver } from "./fake-driver.mjs";
import { startServer } from "./server.mjs";

const server = await startServer();
const limiters = [];
after(async () => {
    limiters.forEach((limiter) => limiter.close());
    await server.kill();
});

async function connect(options = {}) {
    const application = new Redis({ port: server.port, lazyConnect: true });
    const limiter = new Limiter(application, { whenDown: failClosed(), timeout: 10_000, ...options });
    limiters.push(limiter);
    return limiter;
}

/** Another service, which answers as a test says. */
async function serve(t, answer) {
    const service = { came: 0 };
    const http = createServer((_, response) => {
        service.came++;
        const [status, fields = {}] = answer(service.came);
        response.writeHead(status, { connection: "close", ...fields }).end();
    });
    await new Promise((resolve) => http.listen(0, "127.0.0.1", resolve));
    t.after(() => http.close());
    service.url = `http://127.0.0.1:${http.address().port}/`;
    service.key = `http:127.0.0.1:${http.address().port}`;
    return service;
}

const limit = perSecond(100).adaptive(2);

for (const [name, says, least, most] of [
    ["seconds", () => "1800", 1_700_000, 1_800_000],
    ["a date", () => new Date(Date.now() + 1_800_000).toUTCString(), 1_700_000, 1_800_000],
    ["too long", () => "4000000000", 3_500_000, 3_600_000],
    ["absurd", () => "9".repeat(4000), 3_500_000, 3_600_000],
]) {
    test(`one Retry-After stops all processes: ${name}`, async (t) => {
        const service = await serve(t, () => [429, { "Retry-After": says() }]);
        const limiter = await connect(); // two limiters stand for two processes
        const first = pacedFetch(limiter, limit, { maxPause: "1h" }), second = pacedFetch(await connect(), limit, { atMost: "10s" });
        assert.equal((await first(service.url)).status, 429);
        await assert.rejects(second(service.url), DeniedError);
        assert.equal(service.came, 1);
        const pace = await limiter.report(service.key, {});
        assert.ok(pace.pause >= least && pace.pause <= most, `${pace.pause}`);
    });
}

test("the others go on after the pause", async (t) => {
    const service = await serve(t, (n) => (n === 1 ? [503, { "Retry-After": "1" }] : [200]));
    const limiter = await connect();
    await pacedFetch(limiter, limit)(service.url);
    assert.equal((await pacedFetch(await connect(), limit)(new Request(service.url))).status, 200);
    assert.equal((await limiter.report(service.key, {})).pause, 0);
});

test("without reports", async (t) => {
    const service = await serve(t, (n) => (n === 3 ? [429, { "Retry-After": "60" }] : [200]));
    const paced = pacedFetch(await connect(), perSecond(1000).queue(50), { atMost: 5000, key: (url) => `queue:${url.host}` });
    for (const status of [200, 200, 429]) { assert.equal((await paced(service.url)).status, status); }
    await assert.rejects(paced(service.url), DeniedError); // of this process alone
    assert.equal(service.came, 3);
});

test("reports are sums", async () => {
    let now = [200, 404, 429, 500, 503, 504, 200];
    const driver = new FakeDriver((words) => (words[0] === "AD.REPORT" ? ["100", 0] : [1, 10, 9, 0, 100]));
    let clock = 0;
    driver.time = { now: () => clock, sleep: () => Promise.resolve() };
    const limiter = new Limiter(driver, { whenDown: failClosed() });
    const paced = pacedFetch(limiter, limit, { report: { down: 50 }, fetch: async () => new Response(null, { status: now.shift() ?? 200 }) });
    for (let i = 0; i < 7; i++) { await paced("http://a/"); }
    clock += 1000;
    await paced("http://a/");
    const reports = driver.sent.filter(([name]) => name === "AD.REPORT").map((words) => words.join(" "));
    assert.deepEqual(reports, ["AD.REPORT http:a 1 0 DOWN 50%", "AD.REPORT http:a 3 3 DOWN 50%"]);
    const late = pacedFetch(limiter, limit, { fetch: async () => { throw new DOMException("late", "TimeoutError"); } });
    await assert.rejects(late("http://late/"), /late/);
    assert.equal(driver.sent.at(-1).join(" "), "AD.REPORT http:late 0 1");
    limiter.close();
});

test("a lost report is no error", async () => {
    const driver = new FakeDriver((words) => { if (words[0] === "AD.REPORT") { throw new Error("gone"); } return [1, 10, 9, 0, 100]; });
    const limiter = new Limiter(driver, { whenDown: failOpen() }), lost = [];
    const paced = pacedFetch(limiter, limit, { fetch: async () => new Response(), onLostReport: (error) => lost.push(error) });
    assert.equal((await paced("http://a/")).status, 200);
    assert.equal(lost.length, 1);
    limiter.close();
});

test("a request that is aborted while it waits", async () => {
    const driver = new FakeDriver((words) => (words[0] === "RL.REFUND" ? 1 : [1, 10, 0, 60_000, 100]));
    const limiter = new Limiter(driver, { whenDown: failClosed() });
    await assert.rejects(pacedFetch(limiter, perSecond(1).queue(5), { atMost: "2m" })("http://a/", { signal: AbortSignal.timeout(5) }), { name: "TimeoutError" });
    assert.equal(driver.sent.at(-1).join(" "), "RL.REFUND http:a 1");
    limiter.close();
});

test("on a server: a pool, a tree and an adaptive limit", async () => {
    const limiter = await connect();
    const pool = perHour(1).burst(90);
    let flood = 0;
    for (let i = 0; i < 100; i++) { flood += (await limiter.allow("pool", pool.member("flood"))).granted; }
    assert.equal(flood, 80); // eight ninths for one alone
    assert.equal((await limiter.allow("pool", pool.member("small", 3), 2)).granted, 2);
    assert.deepEqual(await limiter.members("pool"), [{ name: "flood", weight: 1, taken: 80 }, { name: "small", weight: 3, taken: 2 }]);
    const tree = (key) => ({ key, assured: perHour(1).burst(10), ceiling: perHour(2).burst(25), under: [{ key: "root", limit: perHour(6).burst(60) }] });
    assert.ok((await limiter.peekClass(tree("pro"))).allowed && (await limiter.allowClass(tree("pro"))).allowed);
    assert.equal((await limiter.allowClass(tree("free"), 26)).retryAfter, -1);
    assert.ok((await limiter.allowClass(tree("free"), 25)).allowed || (await limiter.allowClass(tree("free"), 10)).allowed);
    assert.ok((await limiter.allowClass(tree("pro"), 9)).allowed);
    assert.equal(await limiter.report("backend", { bad: 1 }), null);
    await limiter.wait("backend", limit);
    assert.equal((await limiter.report("backend", { good: 1 })).perSecond, 100);
});
