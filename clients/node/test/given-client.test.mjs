// The client that a program gives to a limiter, which has no listener for errors, while Stint is gone.
import assert from "node:assert/strict";
import { test } from "node:test";

import { Cluster, Redis } from "ioredis";
import { createClient, createCluster } from "redis";

import { InvalidError, Limiter, failOpen } from "../dist/esm/index.js";
import { nowhere, startServer } from "./server.mjs";

const drivers = {
    ioredis: {
        open: (port) => new Redis(port),
        connected: (client) => client.ping(),
        end: (client) => { client.disconnect(); },
        unconnected: (port) => new Redis({ port, lazyConnect: true }),
    },
    "node-redis": {
        open: (port) => createClient({ socket: { port, host: "127.0.0.1" } }),
        connected: (client) => client.connect(),
        end: (client) => { client.destroy(); },
        unconnected: (port) => createClient({ socket: { port, host: "127.0.0.1" } }),
    },
};

const options = { whenDown: failOpen(), timeout: 60_000, onBreaker: () => undefined };

test("a client of a cluster, which repeats commands, is refused", () => {
    const nodes = [{ host: "127.0.0.1", port: 1 }];
    for (const client of [new Cluster(nodes, { lazyConnect: true }), createCluster({ rootNodes: nodes.map((socket) => ({ socket })) })]) {
        assert.throws(() => new Limiter(client, options), InvalidError);
    }
});

for (const [name, { open, connected, end, unconnected }] of Object.entries(drivers)) {
    test(`${name}: the program outlives Stint`, async (t) => {
        const { mock } = t.mock.method(console, "error");
        const server = await startServer(), client = open(server.port);
        await connected(client);
        const limiter = new Limiter(client, options);
        assert.equal((await limiter.allow("k", "10/s")).source, "server");
        const again = async () => { for (let i = 0; i < 3; i++) { await new Promise((resolve) => client.once("reconnecting", resolve)); } }; // events.once would listen for errors
        const lost = again();
        await server.kill();
        await lost; // an error without a listener would end the test before
        const { allowed, source } = await limiter.allow("k", "10/s");
        assert.deepEqual({ allowed, source }, { allowed: true, source: "fallback" });
        limiter.close();
        await again(); // and after the limiter is closed
        end(client);
        const printed = mock.calls.map(({ arguments: [text] }) => String(text)).filter((text) => !text.startsWith("Stint did not decide a request"));
        assert.deepEqual(printed, [], "ioredis prints errors without a listener");
    });

    test(`${name}: a client that is not connected`, async () => {
        const limiter = new Limiter(unconnected(nowhere), options);
        const { allowed, source } = await limiter.allow("k", "10/s");
        assert.deepEqual({ allowed, source }, { allowed: true, source: "fallback" });
        limiter.close();
    });

    test(`${name}: a client that cannot connect`, async () => {
        const client = open(nowhere), limiter = new Limiter(client, options);
        Promise.resolve(connected(client)).catch(() => undefined); // ioredis may neither resolve nor reject it
        const { allowed, source } = await limiter.allow("k", "10/s");
        assert.deepEqual({ allowed, source }, { allowed: true, source: "fallback" });
        limiter.close();
        end(client);
    });

    test(`${name}: a listener of the program stays the only one`, () => {
        const client = unconnected(1);
        client.on("error", () => undefined);
        new Limiter(client, options).close();
        assert.equal(client.listenerCount("error"), 1);
    });
}
