import assert from "node:assert/strict";
import { after, test } from "node:test";

import { Redis } from "ioredis";

import { Limit, Limiter, UnavailableError, failClosed, perSecond } from "../dist/esm/index.js";
import { Purse, now } from "../dist/esm/leases/purse.js";
import { FakeDriver } from "./fake-driver.mjs";
import { Model } from "./lease-model.mjs";
import { startServer } from "./server.mjs";

/** A generator of random numbers from a seed (mulberry32). */
function generator(seed) {
    let state = seed * 2654435761;
    return (below) => {
        state = (state + 0x6d2b79f5) | 0;
        let t = Math.imul(state ^ (state >>> 15), 1 | state);
        t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
        return Math.floor((((t ^ (t >>> 14)) >>> 0) / 2 ** 32) * below);
    };
}

const limits = [perSecond(1000).burst(100_000), perSecond(100).burst(50), perSecond(20).burst(1000), Limit.per(7, "3s").burst(300), Limit.window(500, "@2s")];

/** Random events on one key: processes that spend from purses, lost and late messages, stops, sleeps and crashes, and others who take and give. */
class History {
    now = 0;
    #events = [];
    #serial = 0;
    #direct = 0; // tokens granted to others, of which some come back
    counts = { spent: 0, ignored: 0, lost: 0, late: 0 };

    constructor(seed, limit, fault) {
        Object.assign(this, { random: generator(seed), limit, fault, model: new Model(limit) });
        this.holders = [this.#holder(), this.#holder()];
    }

    #holder() {
        const name = `holder${++this.#serial}`;
        return { name, purse: new Purse(name, this.fault === "spends past the end of the loan" ? Infinity : undefined), waits: 0, stopped: 0, slept: 0 };
    }

    #clock(p) {
        const monotonic = this.now - p.slept;
        return { monotonic, day: this.fault === "does not see that the machine slept" ? monotonic : this.now };
    }

    #after(delay, happen) {
        const at = this.now + delay, i = this.#events.findIndex((event) => event.at > at);
        this.#events.splice(i < 0 ? this.#events.length : i, 0, { at, happen });
    }

    /** Mostly short, and now and then that of a pause or a cut. */
    #delay() {
        switch (this.random(20)) {
            case 0: return this.random(3000);
            case 1: case 2: return this.random(200);
            default: return this.random(5);
        }
    }

    step() {
        const until = this.now + this.random(30) + (this.random(100) === 0 ? this.random(15_000) : 0);
        while (this.#events[0]?.at <= until) {
            const { at, happen } = this.#events.shift();
            this.now = at;
            happen();
        }
        this.now = until;
        const i = this.random(this.holders.length), kind = this.random(100), p = this.holders[i];
        if (kind >= 98) {
            this.model.reset(this.now);
            this.#direct = 0;
        } else if (kind >= 90) {
            this.#others();
        } else if (this.now < p.stopped) {
            return;
        } else if (kind < 45) {
            const most = Math.max(1, p.purse.tokens), n = this.random(2) === 0 ? 1 + this.random(most) : most;
            if (p.purse.spend(this.#clock(p), n)) {
                this.counts.spent += n;
                this.model.spend(this.now, n);
            }
        } else if (kind < 80) {
            this.#send(p, kind < 75);
        } else if (kind < 82) { // stopped, or the machine sleeps
            while (this.random(2) === 0) { p.stopped = Math.max(p.stopped, this.now) + this.random(30_000); }
            if (p.stopped > this.now && this.random(2) === 0) { p.slept += p.stopped - this.now; }
        } else if (kind < 83) { // a crash
            this.holders[i] = this.#holder();
        }
    }

    /** Others take tokens from the server, give some back, and change the rate. */
    #others() {
        if (this.random(3) < 2) {
            const n = this.model.acquire(this.now, 1 + this.random(this.limit.capacity));
            this.#direct += n;
            if (n > 0) {
                this.#after(10 * this.#delay(), () => {
                    const back = Math.min(this.#direct, 1 + this.random(n));
                    this.#direct -= back;
                    this.model.giveBack(this.now, back);
                });
            }
        } else if (this.limit.algorithm === "tokenBucket") {
            this.model.turn(this.now, Limit.per(1 + this.random(20 * this.limit.count), this.limit.period).burst(this.limit.capacity));
            this.#after(this.#delay(), () => this.model.turn(this.now, this.limit));
        }
    }

    /** Sends an operation of a holder. It gives up on some, which the server gets all the same, or never. */
    #send(p, isLend) {
        if (p.waits !== 0) { return; }
        const op = isLend ? p.purse.lend(this.#clock(p), "k", this.limit, 1 + this.random(this.limit.capacity)) : p.purse.giveBack(this.#clock(p), "k");
        p.waits = op.number;
        let arrives = this.#delay(), returns = this.#delay();
        if (this.random(4) === 0) {
            this.counts.lost++;
            this.#after(this.random(20), () => this.#giveUp(p, op));
            if (this.random(4) === 0) { return; }
            arrives += this.random(1000);
            returns += this.random(3000);
        }
        this.#after(arrives, () => {
            const words = [...op.words], held = this.model.numberOf(p.name);
            if (this.fault === "takes any number for the last" && held !== undefined) {
                words[op.isReturn ? 4 : 8] = held.number;
                words[op.isReturn ? 5 : 10] = Math.min(words[op.isReturn ? 5 : 10], held.tokens);
            }
            let reply;
            try { reply = this.model.operate(this.now, words, this.limit); } catch (error) { reply = error; }
            this.#after(returns, () => this.#arrive(p, op, reply));
        });
    }

    #giveUp(p, op) {
        if (p.waits !== op.number) { return; }
        p.waits = 0;
        if (this.now >= p.stopped) { p.purse.hearFailure(new UnavailableError("timeout", "no reply")); }
    }

    /** A process hears an answer, when it runs. */
    #arrive(p, op, reply) {
        if (this.now < p.stopped) {
            this.counts.late++;
            this.#after(p.stopped - this.now, () => this.#arrive(p, op, reply));
        } else if (p.waits === op.number || (this.fault === "uses late answers" && !op.isReturn && !(reply instanceof Error))) {
            if (p.waits === op.number) { p.waits = 0; }
            try {
                if (reply instanceof Error) { throw reply; }
                if (p.purse.hear(op, reply).isIgnored) { this.counts.ignored++; }
            } catch (error) {
                p.purse.hearFailure(error);
            }
        }
    }
}

for (const fault of ["", "spends past the end of the loan", "does not see that the machine slept", "uses late answers", "takes any number for the last"]) {
    test(`loans never exceed the limit: ${fault || "no fault"}`, (t) => {
        const histories = fault === "" ? Number(process.env.LEASE_HISTORIES ?? 5000) : 20_000, total = { spent: 0, ignored: 0, lost: 0, late: 0 };
        let exceeded = 0;
        let seed = 0;
        for (; seed < histories && (fault === "" || exceeded === 0); seed++) { // one is enough to show a fault
            const history = new History(seed, limits[seed % limits.length], fault);
            for (let step = 0; step < 500; step++) { history.step(); }
            if (history.model.excess > 0) { exceeded++; }
            assert.ok(fault !== "" || exceeded === 0, `history ${seed}: ${history.model.excess} tokens too many`);
            for (const name of Object.keys(total)) { total[name] += history.counts[name]; }
        }
        t.diagnostic(`${exceeded} of ${seed} histories exceed the limit`);
        assert.ok(fault === "" || exceeded > 0, "no history shows the fault");
        assert.ok(fault !== "" || Object.values(total).every((n) => n > 0), `too little happened: ${JSON.stringify(total)}`);
    });
}

test("a server without RL.LEND, or one that is gone", async () => {
    const { ofReply } = await import("../dist/esm/errors.js");
    let isGone = false;
    const driver = new FakeDriver((words) => {
        if (isGone) { throw new UnavailableError("connection", "gone"); }
        if (words[0] === "RL.LEND") { throw ofReply("ERR unknown command 'RL.LEND'"); }
        return [1, 1000, 999, 0, 1];
    });
    const limiter = new Limiter(driver, { whenDown: failClosed(), timeout: 30_000 }), leases = limiter.lease();
    for (let i = 0; i < 2000; i++) { assert.equal((await leases.allow("k", perSecond(1000))).source, "server"); }
    assert.ok(driver.sent.filter(([name]) => name === "RL.LEND").length <= 1, "it is asked again and again");
    isGone = true;
    const result = await leases.allow("k", perSecond(1000));
    assert.ok(!result.allowed && result.source === "fallback" && result.cause instanceof UnavailableError);
    await leases.close();
    limiter.close();
});

test("after close, each request goes to the server", async (t) => {
    t.mock.method(performance, "now", () => 1000); // it remembers a denial for a while
    const driver = new FakeDriver(() => [0, 1000, 0, 60, 60]);
    const limiter = new Limiter(driver, { whenDown: failClosed() }), leases = limiter.lease({ ahead: "500ms" });
    for (const source of ["server", "leased"]) { assert.equal((await leases.allow("k", perSecond(1000))).source, source); }
    await leases.close();
    assert.equal((await leases.allow("k", perSecond(1000))).source, "server");
    limiter.close();
});

const server = await startServer();
after(() => server.kill());

test("processes with leases keep to a limit together", async (t) => {
    const limit = perSecond(2000).burst(50_000), clients = [1, 2, 3].map(() => new Redis({ port: server.port, lazyConnect: true }));
    const limiters = clients.map((client) => new Limiter(client, { whenDown: failClosed(), timeout: 30_000 }));
    const leases = limiters.map((limiter) => limiter.lease());
    const counts = { leased: 0, server: 0, denied: 0 };
    const begun = performance.now();
    await Promise.all(leases.map(async (lease) => {
        while (counts.leased < 5000 || counts.denied < 1000) { // until the limit is used up, and a while longer
            const results = await Promise.all(Array.from({ length: 20 }, () => lease.allow("leased", limit)));
            for (const { allowed, source } of results) { counts[allowed ? source : "denied"]++; }
            await new Promise((resolve) => setImmediate(resolve));
        }
    }));
    const passed = performance.now() - begun, granted = counts.leased + counts.server;
    t.diagnostic(`${JSON.stringify(counts)} in ${passed.toFixed(0)} ms`);
    assert.ok(granted <= 50_000 + 2 * passed + 1, `${granted} granted`);
    await Promise.all(leases.map((lease) => lease.close()));
    const [first] = limiters;
    assert.equal(leases[0].held("leased"), 0);
    assert.equal((await leases[0].allow("leased", limit)).source, "server");
    assert.equal((await first.allow("other", Limit.slidingLog(3, "1m"))).source, "server");
    for (const limiter of limiters) { limiter.close(); }
});

test("unused tokens go back, and a request near the limit asks the server", async () => {
    const limiter = new Limiter(new Redis({ port: server.port, lazyConnect: true }), { whenDown: failClosed(), timeout: 30_000 });
    const leases = limiter.lease(), limit = Limit.window(10_000, "1d");
    while (leases.held("day") === 0) { await leases.allow("day", limit); }
    while (leases.held("day") > 0) { await new Promise((resolve) => setTimeout(resolve, 20)); }
    const { remaining } = await limiter.peek("day", limit);
    assert.ok(remaining > 0);
    assert.equal((await leases.allow("day", limit, remaining)).source, "server");
    await leases.close();
    limiter.close();
});

for (let reading = 0; reading <= 4; reading++) {
    test(`a pause before reading ${reading} of the clocks makes no operation younger`, (t) => {
        let clock = 1000, readings = 0;
        const read = () => clock += ++readings === reading ? 118_000 : 1;
        t.mock.method(performance, "now", read);
        t.mock.method(Date, "now", read);
        const purse = new Purse("h"), limit = Limit.per(1000, "1s");
        const op = purse.lend(now(), "k", limit, 10);
        const sentAt = clock;
        purse.hear(op, [10, 1000, 0, 10_000, op.number]);
        clock += 1000;
        const age = purse.age(now());
        assert.equal(readings, 4);
        assert.ok(age >= clock - sentAt - 1 && age <= clock, `${age} ms after ${clock - sentAt}`);
    });
}
