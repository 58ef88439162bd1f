// Uses a Stint server through Node's Redis client libraries, unchanged, and checks every reply.
//
// The server's address comes from STINT_ADDR, and those of a cluster's nodes, for clients that look for its leader, from
// STINT_CLUSTER, separated by commas. Each client and protocol prints one line, "ioredis RESP3: 150 checks"; a wrong
// reply is printed too, and the program exits with 1.

import { Contract } from "./contract.mjs";
import { connectIoredis, connectIoredisCluster, connectIoredisURL, transferLeadership } from "./ioredis.mjs";
import { connectNodeRedis, connectNodeRedisURL } from "./node-redis.mjs";

const { hostname: host, port } = new URL(`redis://${process.env.STINT_ADDR}`);

const nodes = process.env.STINT_CLUSTER.split(",").map((address) => {
  const { hostname, port } = new URL(`redis://${address}`);
  return { host: hostname, port: Number(port) };
});

let failed = false;
for (const [name, library, connect, transfer] of [
  ["ioredis", "ioredis", (protocol) => connectIoredis(host, Number(port), protocol)],
  ["node-redis", "node-redis", (protocol) => connectNodeRedis(host, Number(port), protocol)],
  ["ioredis cluster", "ioredis", (protocol) => connectIoredisCluster(nodes, protocol), (i) => transferLeadership(nodes[i % nodes.length])],
]) {
  for (const protocol of [2, 3]) {
    const contract = new Contract(`${name} RESP${protocol}`, library, protocol, () => connect(protocol), transfer);
    await contract.run();
    console.log(`${contract.name}: ${contract.checks} checks`);
    failed ||= contract.failures > 0 || contract.checks === 0;
  }
}
for (const [library, connect] of [["ioredis", connectIoredisURL], ["node-redis", connectNodeRedisURL]]) {
  const contract = new Contract(`${library} database`, library);
  await contract.database(connect);
  console.log(`${contract.name}: ${contract.checks} checks`);
  failed ||= contract.failures > 0;
}
process.exitCode = failed ? 1 : 0;
