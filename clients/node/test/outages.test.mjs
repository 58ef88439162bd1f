// The outages of a real server that the clients in all languages are tested with.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { test } from "node:test";

import { Redis } from "ioredis";
import { createClient } from "redis";

import { Limiter, UnavailableError, failOpen } from "../dist/esm/index.js";
import { freePort, startServer } from "./server.mjs";

const { calls, timeout_ms: timeout, lasts_ms: lasts, outages, to_reach_ms: toReach, hangs_above_ms: hangs } = JSON.parse(readFileSync(new URL("../../vectors/outages.json", import.meta.url), "utf8"));

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

    async listen(target) {
        const port = await freePort();
        this.#listener = createServer((client) => {
            client.on("error", () => undefined);
            if (this.#refuses) {
                client.destroy();
                return;
            }
            const server = connect(target, "127.0.0.1");
            for (const [one, other] of [[client, server], [server, client]]) {
                this.#sockets.add(one);
                one.on("error", () => undefined).on("close", () => { other.destroy(); this.#sockets.delete(one); });
            }
            let sent = Promise.resolve(), isDead = false; // one chunk after the other
            client.on("data", (data) => {
                isDead ||= this.loses;
                if (!isDead) { server.write(data); }
            });
            server.on("data", (data) => { sent = sent.then(() => this.#send(client, data)); });
        });
        await new Promise((resolve) => this.#listener.listen(port, "127.0.0.1", resolve));
        return port;
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

for (const [driver, client] of Object.entries(clients)) {
    for (const outage of Object.keys(outages)) {
        test(`${driver}: ${outage}`, async (t) => {
            const server = await startServer(), proxy = new Proxy(), port = await proxy.listen(server.port);
            const [fail, back] = {
                killed: [() => server.kill(), () => server.start()],
                stopped: [() => server.stop(), () => server.signal("SIGCONT")],
                slow: [() => { proxy.between = 15; }, () => { proxy.between = 0; }],
                lost: [() => { proxy.loses = true; }, () => { proxy.loses = false; }],
                refusing: [() => { proxy.refuse(true); }, () => { proxy.refuse(false); }],
            }[outage];
            const limiter = new Limiter(client(["slow", "refusing", "lost"].includes(outage) ? port : server.port), { whenDown: failOpen(), timeout });
            try {
                await answered(limiter);
                await fail();
                const times = [];
                let result;
                for (let i = 0; i <= calls; i++) {
                    const begun = performance.now();
                    result = await limiter.allow("outage", "1000000/s");
                    times.push(performance.now() - begun);
                    assert.ok(result.allowed && result.cause instanceof UnavailableError && result.source === "fallback");
                }
                assert.equal(result.cause.reason, "circuit-open");
                await pause(lasts);
                await back();
                const begun = performance.now();
                await answered(limiter);
                const [first, ...next] = times;
                const figures = { first, next_p99: next.sort((a, b) => a - b)[Math.floor(calls * 0.99) - 1], back: performance.now() - begun };
                t.diagnostic(`${outage}, ${driver}: ${Object.entries(figures).map(([name, ms]) => `${name} ${ms.toFixed(3)} of ${toReach[name]} ms`).join(", ")}`);
                for (const [name, ms] of Object.entries(figures)) { assert.ok(ms < hangs[name], name); }
            } finally {
                limiter.close();
                proxy.close();
                await server.kill();
            }
        });
    }
}
