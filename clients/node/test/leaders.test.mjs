// Calls go to the leaders of their keys.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { networkInterfaces, tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";

import { Redis } from "ioredis";
import { createClient } from "redis";

import { InvalidError, Limiter, failClosed, perSecond } from "../dist/esm/index.js";
import { Leaders, slotOf } from "../dist/esm/leaders.js";
import { Scripted } from "./scripted.mjs";
import { startServer } from "./server.mjs";

const granted = "*5\r\n:1\r\n:20\r\n:19\r\n:0\r\n:100";
const libraries = {
    ioredis: (port) => new Redis({ host: "127.0.0.1", port, lazyConnect: true }),
    "node-redis": (port) => createClient({ url: `redis://127.0.0.1:${port}` }),
};
const directory = mkdtempSync(join(tmpdir(), "stint-leaders-"));
const ends = [];
after(async () => {
    for (const end of ends) { await end(); }
    rmSync(directory, { recursive: true, force: true });
});

/** A function that asks about twenty new keys, and returns whether the server decided all. */
function asking(clients, options) {
    const limiter = new Limiter(clients, { whenDown: failClosed(), timeout: "30s", connectTimeout: "30s", onBreaker: () => {}, ...options });
    ends.unshift(() => { limiter.close(); });
    let asked = 0;
    return async () => {
        const results = await Promise.all(Array.from({ length: 20 }, () => limiter.allow(`key:${asked++}`, perSecond(20))));
        return results.every(({ source }) => source === "server");
    };
}

async function until(what) {
    while (!await what()) { await new Promise((resolve) => setTimeout(resolve, 10)); }
}

test("slots", () => {
    for (const { words, slot } of JSON.parse(readFileSync(new URL("../../vectors/slots.json", import.meta.url), "utf8"))) {
        assert.equal(slotOf(words) ?? null, slot, words.join(" "));
    }
});

/** Two nodes, and their ports. The first leads the lower half of the slots, the second the upper half. */
async function twoLeaders(secondHost = "127.0.0.1") {
    const nodes = [new Scripted(), new Scripted()], ports = [await nodes[0].listen(), await nodes[1].listen(secondHost)];
    const range = (i) => `*3\r\n:${8192 * i}\r\n:${8192 * i + 8191}\r\n*2\r\n+${["127.0.0.1", secondHost][i]}\r\n:${ports[i]}`;
    for (const node of nodes) {
        node.reply = granted;
        node.slots = `*2\r\n${range(0)}\r\n${range(1)}`;
        ends.push(() => { node.close(); });
    }
    return { nodes, ports };
}

test("leaders are asked for again after a second if there was no reply, and after ten seconds if there was", () => {
    const leaders = new Leaders(), due = (now) => leaders.isDue(now);
    assert.deepEqual([0, 999, 1000].map(due), [true, false, true]);
    leaders.learn([], () => -1);
    assert.deepEqual([2000, 10_999, 11_000].map(due), [false, false, true]);
});

for (const [name, open] of Object.entries(libraries)) {
    for (const given of [1, 2]) {
        test(`calls go to the leaders, of which ${given} are given (${name})`, async () => {
            const { nodes, ports } = await twoLeaders();
            nodes.forEach((node, own) => {
                node.replyTo = (words) => {
                    const leader = Math.floor(slotOf(words) / 8192);
                    return leader === own ? granted : `-MOVED 7 127.0.0.1:${ports[leader]}`;
                };
            });
            const ask = asking(ports.slice(0, given).map(open)), count = () => nodes[0].commands.length + nodes[1].commands.length;
            await until(async () => {
                const before = count();
                assert.ok(await ask());
                return count() - before === 20;
            });
        });
    }

    test(`a redirection to an IPv6 address is followed (${name})`, { skip: !networkInterfaces().lo?.some(({ address }) => address === "::1") }, async () => {
        const { nodes: [first], ports } = await twoLeaders("::1");
        first.reply = `-MOVED 7 [::1]:${ports[1]}`;
        assert.ok(await asking([open(ports[0])])());
    });

    test(`a leader whose connection died without a sign gets another one (${name})`, async () => {
        const { nodes, ports } = await twoLeaders();
        const ask = asking(ports.map(open), { timeout: "50ms", breaker: { failures: Infinity } });
        const isAsked = async () => { await ask(); return nodes[1].commands.length > 0; };
        await until(isAsked);
        nodes[1].ignorePresent();
        nodes[1].commands.length = 0;
        await until(isAsked);
    });
}

test("the next node is asked if one is gone", async () => {
    const server = await startServer();
    ends.push(() => server.kill());
    assert.ok(await asking([libraries.ioredis(1), libraries.ioredis(server.port)])());
});

test("no clients are refused", () => {
    assert.throws(() => new Limiter([], { whenDown: failClosed() }), InvalidError);
    assert.throws(() => new Limiter(["redis://127.0.0.1"], { whenDown: failClosed() }), InvalidError);
});

test("no node with groups forwards, and when one dies, the others answer", { skip: process.platform !== "linux" }, async () => {
    // Nobody else has these addresses of the loopback, and no system hands out these ports.
    const hosts = [1, 2, 3].map((i) => `127.${1 + (process.pid >> 8) % 250}.${process.pid & 255}.${i}`), nodes = [];
    const peers = hosts.map((host) => `${host}:16380`).join(","), inspecting = [];
    for (const host of hosts) {
        nodes.push(await startServer(
            "--listen", `${host}:16379`, "--advertise", `${host}:16379`, "--node-id", host, "--cluster-listen", `${host}:16380`,
            "--cluster-peers", peers, "--bootstrap-expect", "3", "--groups", "3", "--dir", join(directory, host),
        ));
        const redis = new Redis({ port: nodes.at(-1).port });
        inspecting.push(redis.on("error", () => {}));
        ends.push(() => { redis.disconnect(); }, () => nodes[hosts.indexOf(host)].kill());
    }
    const ask = asking(hosts.map((host) => new Redis({ host, port: 16379, lazyConnect: true })));
    const forwarded = () => Promise.all(inspecting.map(async (redis) => /^forwarded:\d+/m.exec(await redis.info("cluster"))[0]));
    await until(async () => {
        const ranges = await inspecting[0].call("CLUSTER", "SLOTS").catch(() => []);
        return new Set(ranges.map(([, , [host]]) => host)).size === 3; // each leads a group
    });
    await until(async () => {
        const before = await forwarded();
        return await ask() && before.join() === (await forwarded()).join();
    });
    await nodes[0].kill();
    await until(ask);
});
