// Streams that end at their budget, on a budget in memory and on a server.
import assert from "node:assert/strict";
import { after, test } from "node:test";

import { Redis } from "ioredis";

import { BudgetSpentError, InvalidError, Limiter, RefusedError, UnavailableError, failClosed, failOpen, localShare } from "../dist/esm/index.js";
import { FakeDriver } from "./fake-driver.mjs";
import { startServer } from "./server.mjs";

const limit = "FW 100000 10d";

/** A budget in memory, with the replies of the server about one limit. */
class Budget {
    isDown = false; // replies are lost
    lost = 0; // so many replies are lost, of commands that were carried out
    forgets = false;
    requests = new Map();

    constructor(left, whenDown = failClosed(), timeout = 20) {
        this.left = left;
        this.driver = new FakeDriver((words) => this.#reply(words.map(String)));
        this.limiter = new Limiter(this.driver, { whenDown, timeout, breaker: { failures: Infinity } });
        after(() => { this.limiter.close(); });
    }

    get sent() { return this.driver.sent.map((words) => words.join(" ")); }

    /** The commands with this name that were sent, without it and the id of the stream. */
    of(name) { return this.driver.sent.filter(([first]) => first === name).map(([, , ...rest]) => rest.join(" ")); }

    #reply(words) {
        const gone = () => { throw new UnavailableError("connection", "gone"); };
        if (this.isDown) { gone(); }
        const reply = this.#execute(words);
        if (this.lost > 0) { this.lost--; gone(); }
        return reply;
    }

    #execute([name, ...words]) {
        const state = () => [100_000, this.left, 5], denial = () => [0, 0, 1500, [state()]];
        const id = name === "RL.CHECK" || name === "RL.ALL" ? words[words.indexOf("AS") + 1] : words[0];
        let request = this.requests.get(id);
        switch (name) {
            case "RL.CHECK": case "RL.ALL": {
                const tokens = Number(name === "RL.CHECK" ? words[2] : words[words.indexOf("TOKENS") + 1]);
                if (request === undefined) {
                    if (tokens > this.left) { return denial(); }
                    this.left -= tokens;
                    request = { total: tokens, last: 0 };
                    this.requests.set(id, request);
                }
                return [request.total, -1, 0, [state()]];
            }
            case "RL.EXTEND": {
                const [n, tokens] = words.slice(1).map(Number), granted = Math.min(tokens, this.left);
                if (this.forgets) { return null; }
                if (n !== request.last) {
                    assert.equal(n, request.last + 1);
                    assert.equal(words[3], "UPTO");
                    if (granted === 0) { return [...denial(), request.total]; }
                    this.left -= granted;
                    Object.assign(request, { total: request.total + granted, last: n, granted });
                }
                return [request.granted, -1, 0, [state()], request.total];
            }
            case "RL.SETTLE": case "RL.CANCEL": {
                const charged = name === "RL.CANCEL" ? 0 : Number(words[1]);
                if (this.forgets || request === undefined) { return null; }
                this.left += request.total - charged;
                request.total = charged;
                return [[charged, ...state()]];
            }
            default: throw new Error(name);
        }
    }
}

/** Chunks of so many tokens each. It notes whether it was closed. */
function source(...sizes) {
    const chunks = sizes[Symbol.iterator](), made = { closed: false, error: undefined };
    const next = () => {
        const step = chunks.next();
        if (step.value instanceof Error) { throw step.value; }
        return Promise.resolve(step);
    };
    made.chunks = { [Symbol.asyncIterator]: () => ({ next, return: () => { made.closed = true; return Promise.resolve({ done: true }); } }) };
    return made;
}

/** Reads a stream to its end, at most so many chunks of it, and returns what it read; an error is its last part. */
async function read(stream, from, most = Infinity) {
    const got = [];
    try {
        for await (const chunk of stream.wrap(from.chunks, (size) => size)) {
            got.push(chunk);
            if (got.length === most) { break; }
        }
    } catch (error) {
        got.push(error);
    } finally {
        await stream[Symbol.asyncDispose]();
    }
    return got;
}

const sum = (sizes) => sizes.reduce((all, size) => all + size, 0);
const options = { id: "s", step: 100, caller: "ann" };

test("a stream to its end is charged once for what it counted", async () => {
    const budget = new Budget(1000), stream = await budget.limiter.streaming("llm", { ...options, prompt: 30, fields: { team: "a" }, keep: 5 });
    assert.deepEqual([stream.id, stream.used, stream.reserved, stream.result.allowed], ["s", 30, 130, true]);
    assert.deepEqual(await read(stream, source(20, 30)), [20, 30]);
    assert.deepEqual([stream.used, stream.charges, stream.error], [80, [{ charged: 80, limit: 100_000, remaining: 920, resetAfter: 5 }], undefined]);
    assert.deepEqual(budget.sent, ["RL.CHECK llm ann 130 KEEP 5 AS s FOR 600000ms WITH team a", "RL.SETTLE s 80"]);
    await assert.rejects(stream.add(1), InvalidError);
});

for (const [name, usage] of [["less", 40], ["more", 900]]) {
    test(`the usage that the provider tells, ${name} than was reserved, is charged`, async () => {
        const budget = new Budget(1000), stream = await budget.limiter.streaming("llm", options);
        await stream.add(50);
        stream.settle(usage);
        stream.settle(usage);
        assert.throws(() => { stream.settle(usage + 1); }, InvalidError);
        await stream[Symbol.asyncDispose]();
        assert.deepEqual([budget.left, stream.charges[0].charged], [1000 - usage, usage]);
    });
}

test("an error in the middle: what was delivered is charged", async () => {
    const budget = new Budget(1000), stream = await budget.limiter.streaming("llm", options), error = new Error("broken");
    assert.deepEqual(await read(stream, source(20, 30, error)), [20, 30, error]);
    assert.deepEqual(budget.of("RL.SETTLE"), ["50"]);
});

test("an error before the first chunk: everything is given back", async () => {
    const budget = new Budget(1000), stream = await budget.limiter.streaming("llm", { ...options, prompt: 30 }), error = new Error("broken");
    assert.deepEqual(await read(stream, source(error)), [error]);
    assert.deepEqual([budget.left, budget.sent.at(-1)], [1000, "RL.CANCEL s"]);
});

test("a model that began and said nothing: the prompt is charged", async () => {
    const budget = new Budget(1000), stream = await budget.limiter.streaming("llm", { ...options, prompt: 30 });
    assert.deepEqual(await read(stream, source(0)), [0]);
    assert.equal(budget.left, 970);
});

test("a caller that goes away: the source is closed, and what was delivered is charged", async () => {
    const budget = new Budget(1000), stream = await budget.limiter.streaming("llm", options), from = source(20, 30, 40);
    assert.deepEqual(await read(stream, from, 2), [20, 30]);
    assert.ok(from.closed);
    assert.equal(budget.left, 950);
});

test("a request that is aborted", async () => {
    const budget = new Budget(1000), stream = await budget.limiter.streaming("llm", options), stop = new AbortController();
    const chunks = (async function* () { yield 20; yield await new Promise((_, reject) => { stop.signal.addEventListener("abort", () => { reject(stop.signal.reason); }); }); })();
    const reading = read(stream, { chunks });
    setImmediate(() => { stop.abort(); });
    const [first, error] = await reading;
    assert.deepEqual([first, error.name, budget.left], [20, "AbortError", 980]);
});

test("it ends at the budget", async () => {
    const budget = new Budget(1000), stream = await budget.limiter.streaming("llm", options), from = source(...Array(50).fill(30));
    const got = await read(stream, from), error = got.pop();
    assert.ok(error instanceof BudgetSpentError);
    assert.equal(error.message, "the budget is spent after 990 tokens: try again in 2 s");
    assert.deepEqual([error.used, error.result.binding, error.result.retryAfter, sum(got), budget.left, from.closed], [990, 0, 1500, 990, 10, true]);
    assert.deepEqual(budget.of("RL.SETTLE"), ["990"]);
});

test("after a denial each later chunk is denied alike", async () => {
    const budget = new Budget(100), stream = await budget.limiter.streaming("llm", options);
    const error = await stream.add(101).catch((reason) => reason);
    assert.ok(error instanceof BudgetSpentError);
    await assert.rejects(stream.add(1), (reason) => reason === error);
    await stream[Symbol.asyncDispose]();
    assert.equal(budget.left, 100); // nothing was counted, and the model had begun
});

test("a chunk larger than the step, and chunks that are counted at once", async () => {
    const budget = new Budget(5000), stream = await budget.limiter.streaming("llm", options);
    await Promise.all([stream.add(700), stream.add(1), stream.add(900)]);
    await stream[Symbol.asyncDispose]();
    assert.deepEqual([stream.used, budget.left], [1601, 3399]);
});

test("a long stream makes few extensions", async () => {
    const budget = new Budget(100_000), stream = await budget.limiter.streaming("llm", options);
    assert.equal(sum(await read(stream, source(...Array(10_000).fill(7)))), 70_000);
    assert.ok(budget.of("RL.EXTEND").length < 40, `${budget.of("RL.EXTEND").length}`);
    assert.equal(budget.left, 30_000);
});

test("no budget at all: it does not open", async () => {
    const budget = new Budget(30);
    await assert.rejects(budget.limiter.streaming("llm", { ...options, prompt: 30 }), (error) => {
        assert.deepEqual([error.name, error.used, error.result.limits[0].remaining], ["BudgetSpentError", 0, 30]);
        return true;
    });
    assert.equal(budget.sent.length, 1);
});

test("the rest of a budget lets it begin", async () => {
    const budget = new Budget(50), stream = await budget.limiter.streaming([{ key: "k", limit }], { ...options, prompt: 30 });
    assert.deepEqual(await read(stream, source(10, 10)), [10, 10]);
    const all = (tokens) => `RL.ALL FW k 100000 10d TOKENS ${tokens} AS s FOR 600000ms`;
    assert.deepEqual([budget.sent.slice(0, 2), budget.left], [[all(130), all(31)], 0]);
});

test("a server that is gone: fail closed ends the stream once its reservation is used up", async () => {
    const budget = new Budget(1000), stream = await budget.limiter.streaming("llm", options);
    await stream.add(40);
    budget.isDown = true;
    await stream.add(60); // the extension in advance failed
    await assert.rejects(stream.add(1), (error) => error instanceof BudgetSpentError && error.result.source === "fallback" && /after 100 tokens: gone/.test(error.message));
    await stream[Symbol.asyncDispose]();
    assert.ok(stream.error instanceof UnavailableError);
    budget.isDown = false;
    assert.equal((await budget.limiter.settle(stream.id, stream.used))[0].charged, 100);
});

test("a server that is gone: fail open goes on, and the same number is asked when it is back", async () => {
    const budget = new Budget(5000, failOpen()), stream = await budget.limiter.streaming("llm", options);
    budget.isDown = true;
    for (let i = 0; i < 10; i++) { await stream.add(50); }
    budget.isDown = false;
    await stream.add(500);
    await stream[Symbol.asyncDispose]();
    assert.ok(budget.of("RL.EXTEND").every((words) => words.startsWith("1 ") || words.startsWith("2 ")), budget.of("RL.EXTEND").join());
    assert.deepEqual([stream.used, budget.left], [1000, 4000]);
});

test("a server that is gone: a share of limits that the limiter knows", async () => {
    const budget = new Budget(1000, localShare(0.001)), stream = await budget.limiter.streaming([{ key: "k", limit }], options);
    budget.isDown = true;
    const got = await read(stream, source(...Array(30).fill(10))), error = got.pop();
    assert.ok(error instanceof BudgetSpentError && error.result.source === "local", String(error));
    assert.equal(sum(got), 200); // 100 of the server, and 100 of the share
});

test("an opening whose reply was lost is given back", async () => {
    const budget = new Budget(1000);
    budget.isDown = true;
    await assert.rejects(budget.limiter.streaming("llm", options), BudgetSpentError);
    assert.ok(budget.of("RL.CANCEL").length > 0);
});

test("a lost reply: the same extension is asked again, and taken once", async () => {
    const budget = new Budget(1000, failClosed(), "30s"), stream = await budget.limiter.streaming("llm", options);
    budget.lost = 1;
    await stream.add(60);
    assert.deepEqual(budget.of("RL.EXTEND"), Array(2).fill("1 100 UPTO FOR 600000ms"));
    assert.deepEqual([stream.reserved, budget.left], [200, 800]);
});

test("a server that has forgotten the stream", async () => {
    const budget = new Budget(1000), stream = await budget.limiter.streaming("llm", options);
    budget.forgets = true;
    await assert.rejects(stream.add(101), (error) => error instanceof RefusedError && /remember it for longer/.test(error.message));
    await stream[Symbol.asyncDispose]();
    assert.ok(stream.charges === null && stream.error instanceof RefusedError);
});

test("the first reservation is the mean of the caller's last eight streams", async () => {
    const budget = new Budget(100_000);
    const opened = async (used, more = {}) => {
        const stream = await budget.limiter.streaming("llm", { step: 10, prompt: 5, ...more });
        if (used !== undefined) { await stream.add(used); }
        await stream[Symbol.asyncDispose]();
        return stream.reserved - (used === undefined ? 5 : 0);
    };
    assert.equal(await opened(), 10);
    for (const used of [1000, 20, 21, 22, 20, 20, 20, 20, 20]) { await opened(used); }
    assert.equal(await opened(), 21); // of 163 / 8, rounded up; the first is forgotten, and a stream that was given back does not count
    await opened(1e4);
    assert.equal(await opened(), 160); // sixteen steps
    assert.equal(await opened(undefined, { caller: "bob" }), 10);
});

test("it is settled once, whatever ends it", async () => {
    const budget = new Budget(1000), stream = await budget.limiter.streaming("llm", options);
    await Promise.all([stream.add(50), stream[Symbol.asyncDispose](), stream[Symbol.asyncDispose]()]);
    assert.deepEqual(budget.of("RL.SETTLE"), ["50"]);
});

test("wrong arguments", async () => {
    const budget = new Budget(1000), { limiter } = budget;
    const wrong = { step: [0, 1.5, 2e9], prompt: [-1, "5"], remember: [0, "x"], caller: [5], misspelt: [1] };
    for (const [name, values] of Object.entries(wrong)) {
        for (const value of values) { await assert.rejects(limiter.streaming("llm", { [name]: value }), InvalidError, name); }
    }
    await assert.rejects(limiter.streaming([5]), InvalidError);
    await assert.rejects(limiter.extend("id", 0, 5), InvalidError);
    await assert.rejects(limiter.extend("id", 1, 0), InvalidError);
    assert.deepEqual(budget.sent, []);
    const stream = await limiter.streaming("llm");
    await assert.rejects(stream.add(-1), InvalidError);
    await assert.rejects(stream.wrap([1], 5).next(), InvalidError);
    assert.equal(stream.reserved, 256);
});

test("on a server: streams use a budget up, and do not overspend it", async (t) => {
    const server = await startServer(), redis = new Redis(server.port), limiter = new Limiter(redis, { whenDown: failClosed(), timeout: 60_000 });
    t.after(async () => { limiter.close(); redis.disconnect(); await server.kill(); });
    const budget = 50_000, limits = [{ key: "budget", limit: `FW ${budget} 10d` }];
    const outcomes = await Promise.all(Array.from({ length: 100 }, async () => {
        let stream;
        try {
            stream = await limiter.streaming(limits, { prompt: 20 });
        } catch (error) {
            assert.ok(error instanceof BudgetSpentError);
            return 0;
        }
        await read(stream, source(...Array(400).fill(3)));
        assert.equal(stream.error, undefined);
        return stream.used;
    }));
    const used = sum(outcomes), usage = await limiter.usage("budget");
    assert.deepEqual([usage.used, usage.remaining], [used, budget - used]);
    assert.ok(used <= budget && used >= 0.95 * budget, `${used}`);
    assert.equal(await limiter.extend("absent", 1, 5), null);
});
