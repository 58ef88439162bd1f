// A server that refuses the login, with both drivers.
import assert from "node:assert/strict";
import { test } from "node:test";

import { Redis } from "ioredis";
import { createClient } from "redis";

import { Limiter, UnauthenticatedError, failOpen } from "../dist/esm/index.js";
import { startServer } from "./server.mjs";

const clients = {
    ioredis: (port, password) => {
        const client = new Redis({ port, password, lazyConnect: true });
        client.on("error", () => undefined);
        return client;
    },
    "node-redis": (port, password) => createClient({ socket: { port, host: "127.0.0.1" }, ...(password !== undefined && { password }) }),
};

for (const [name, client] of Object.entries(clients)) {
    for (const [what, password, beginning] of [["a wrong password", "wrong", "WRONGPASS "], ["no password", undefined, "NOAUTH "]]) {
        test(`${name}: ${what}`, async () => {
            const server = await startServer("--requirepass", "right"), told = [];
            const limiter = new Limiter(client(server.port, password), { whenDown: failOpen(), timeout: 60_000, onRefusedLogin: (error) => told.push(error) });
            try {
                for (let i = 0; i < 3; i++) {
                    const { allowed, source, cause } = await limiter.allow("k", "10/s");
                    assert.ok(allowed && source === "fallback");
                    assert.ok(cause instanceof UnauthenticatedError && cause.message.startsWith(beginning), `${cause}`);
                }
                assert.equal(told.length, 1);
            } finally {
                limiter.close();
                await server.kill();
            }
        });
    }
}
