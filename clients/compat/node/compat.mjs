// Uses a Stint server through Node's Redis client libraries, unchanged, and checks every reply.
//
// The server's address comes from STINT_ADDR. Each client and protocol prints one line, "ioredis RESP3: 150 checks";
// a reply that is not the promised one is printed too, and the program exits with 1.

import { Contract } from "./contract.mjs";
import { connectIoredis } from "./ioredis.mjs";
import { connectNodeRedis } from "./node-redis.mjs";

const { hostname: host, port } = new URL(`redis://${process.env.STINT_ADDR}`);

let failed = false;
for (const [name, library, connect] of [
  ["ioredis", "ioredis", connectIoredis],
  ["node-redis", "node-redis", connectNodeRedis],
]) {
  for (const protocol of [2, 3]) {
    const contract = new Contract(`${name} RESP${protocol}`, library, protocol, () => connect(host, Number(port), protocol));
    await contract.run();
    console.log(`${contract.name}: ${contract.checks} checks`);
    failed ||= contract.failures > 0 || contract.checks === 0;
  }
}
process.exitCode = failed ? 1 : 0;
