// The outages of a real server that the clients in all languages are tested with.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { test } from "node:test";

import { Redis } from "ioredis";
import { createClient } from "redis";

import { Limiter, UnavailableError, failClosed, failOpen } from "../dist/esm/index.js";
import { startServer } from "./server.mjs";

const { calls, timeout_ms: timeout, lasts_ms: lasts, outages, to_reach_ms: toReach } = JSON.parse(readFileSync(new URL("../../vectors/outages.json", import.meta.url), "utf8"));

const clients = {
    ioredis: (port) => new Redis({ port, lazyConnect: true }),
    "node-redis": (port) => createClient({ socket: { port, host: "127.0.0.1" } }),
};

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** A proxy that delivers replies one byte at a time, or closes connections, when it is told to. */
class Proxy {
    #sockets = new Set();
    #refuses = false;
    loses = false; // the bytes of the connections that there are now, and of new ones
    between = 0; // milliseconds between two bytes of replies
    #listener;

    /** Listens at a port of the system's choice, and passes connections on to the port that the server has then. */
    async listen(server) {
        this.#listener = createServer((client) => {
            client.on("error", () => undefined);
            if (this.#refuses) {
                client.destroy();
                return;
            }
            const behind = connect(server.port, "127.0.0.1");
            for (const [one, other] of [[client, behind], [behind, client]]) {
                this.#sockets.add(one);
                one.on("error", () => undefined).on("close", () => { other.destroy(); this.#sockets.delete(one); });
            }
            let sent = Promise.resolve(), isDead = false; // one chunk after the other
            client.on("data", (data) => {
                isDead ||= this.loses;
                if (!isDead) { behind.write(data); }
            });
            behind.on("data", (data) => { sent = sent.then(() => this.#send(client, data)); });
        });
        await new Promise((resolve) => this.#listener.listen(0, "127.0.0.1", resolve));
        return this.#listener.address().port;
    }

    async #send(client, data) {
        let at = 0;
        for (; this.between > 0 && at < data.length && !client.destroyed; at++) {
            client.write(data.subarray(at, at + 1));
            await pause(this.between);
        }
        client.write(data.subarray(at));
    }

    refuse(refuses) {
        this.#refuses = refuses;
        this.closeAll();
    }

    closeAll() {
        for (const socket of this.#sockets) { socket.destroy(); }
    }

    close() {
        this.#listener.close();
        this.closeAll();
    }
}

/** Waits until the source of results is the server. */
async function answered(limiter) {
    while ((await limiter.allow("outage", "1000000/s")).source !== "server") { await pause(5); }
}

/**
 * Makes calls one after the other: all are decided by the fallback, the first few after they asked in vain. Once the breaker is open, none asks,
 * unless it may close. The value has the milliseconds of each, and the number of those that asked.
 */
async function callsInOutage(limiter, mayClose) {
    const times = [];
    let asked = 0, wasOpen = false;
    for (let i = 0; i <= calls; i++) {
        const begun = performance.now();
        const { allowed, cause, source } = await limiter.allow("in the outage", limit);
        times.push(performance.now() - begun);
        assert.ok(allowed && cause instanceof UnavailableError && source === "fallback", `call ${i}: ${source}, ${cause}`);
        const isOpen = cause.reason === "circuit-open";
        assert.ok(isOpen ? i > 0 : mayClose || !wasOpen, `call ${i}: ${cause}`);
        wasOpen = isOpen;
        if (!isOpen) { asked++; }
    }
    assert.ok(asked < calls && (mayClose || asked <= calls / 10), `${asked} of ${times.length} calls asked`);
    return { times, asked };
}

/** The tokens that calls in an outage have taken. */
async function takenInOutage(client) {
    const limiter = new Limiter(client, { whenDown: failClosed(), timeout: 30_000 });
    const { remaining, source } = await limiter.peek("in the outage", limit);
    limiter.close();
    assert.equal(source, "server");
    return 1_000_000 - 1 - remaining;
}

const limit = "FW 1000000 1d";

for (const [driver, client] of Object.entries(clients)) {
    for (const outage of Object.keys(outages)) {
        test(`${driver}: ${outage}`, async (t) => {
            const server = await startServer(), proxy = new Proxy(), port = await proxy.listen(server);
            const [fail, back] = {
                killed: [() => server.kill(), () => server.start()],
                stopped: [() => server.stop(), () => server.signal("SIGCONT")],
                slow: [() => { proxy.between = 15; }, () => { proxy.between = 0; }],
                lost: [() => { proxy.loses = true; }, () => { proxy.loses = false; }],
                refusing: [() => { proxy.refuse(true); }, () => { proxy.refuse(false); }],
            }[outage];
            const limiter = new Limiter(client(port), { whenDown: failOpen(), timeout }), mayClose = outage === "slow"; // it answers a probe in the end
            try {
                await answered(limiter);
                await fail();
                const { times: [first, ...next], asked } = await callsInOutage(limiter, mayClose);
                await pause(lasts); // probes fail
                assert.ok(limiter.isOpen || mayClose, "the breaker has closed");
                await back();
                const begun = performance.now();
                await answered(limiter);
                const figures = { first, next_p99: next.sort((a, b) => a - b)[Math.floor(calls * 0.99) - 1], back: performance.now() - begun };
                t.diagnostic(`${outage}, ${driver}: ${Object.entries(figures).map(([name, ms]) => `${name} ${ms.toFixed(3)} of ${toReach[name]} ms`).join(", ")}`);
                assert.ok(await takenInOutage(client(server.port)) <= asked, "calls that did not ask have taken tokens");
            } finally {
                limiter.close();
                proxy.close();
                await server.kill();
            }
        });
    }
}
