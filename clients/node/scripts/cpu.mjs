// Prints the CPU time of a call beside that of the driver's own call of the same command: node scripts/cpu.mjs PORT. A server listens on PORT.
import { Redis } from "ioredis";
import { createClient } from "redis";
import { Limiter, failOpen } from "../dist/esm/index.js";

const port = Number(process.argv[2] ?? 6379), rounds = 21, calls = 3000;
const ioredis = new Redis(port), nodeRedis = await createClient({ socket: { port } }).connect();
const words = ["cpu", "1000000", "1000000/s", "1"];

const contenders = {
    "ioredis": () => ioredis.call("TB.ACQUIRE", words),
    "Limiter on ioredis": limited(ioredis),
    "node-redis": () => nodeRedis.sendCommand(["TB.ACQUIRE", ...words]),
    "Limiter on node-redis": limited(nodeRedis),
};

function limited(client) {
    const limiter = new Limiter(client, { whenDown: failOpen(), timeout: 1000 });
    return () => limiter.allow("cpu", "1000000/s");
}

/** Microseconds of CPU a call, with so many calls at a time. */
async function cost(call, atOnce) {
    const before = process.cpuUsage();
    for (let i = 0; i < calls; i += atOnce) {
        await Promise.all(Array.from({ length: atOnce }, call));
    }
    const { user, system } = process.cpuUsage(before);
    return (user + system) / calls;
}

const leases = new Limiter(ioredis, { whenDown: failOpen(), timeout: 1000 }).lease();
contenders["a lease"] = () => leases.allow("leased", "1000000000/s");

for (const atOnce of [1, 50]) {
    const samples = Object.fromEntries(Object.keys(contenders).map((name) => [name, []]));
    for (let round = -3; round < rounds; round++) { // the first ones warm up
        for (const [name, call] of Object.entries(contenders)) {
            const sample = await cost(call, atOnce);
            if (round >= 0) { samples[name].push(sample); }
        }
    }
    for (const [name, all] of Object.entries(samples)) {
        console.log(`${atOnce} at a time, ${name}: ${all.sort((a, b) => a - b)[rounds >> 1].toFixed(1)} µs of CPU a call`);
    }
}
process.exit();
