// Serves ../clusterkills_test.go: of each line, KEY CALLS, it makes the calls, and prints how many were granted.

import { createInterface } from "node:readline";
import { Cluster } from "ioredis";

const [addresses, limit] = process.argv.slice(2);
const cluster = new Cluster(addresses.split(","), { maxRedirections: 300 });
cluster.on("error", (error) => console.error(error.message));
console.log("uses ioredis");
for await (const line of createInterface({ input: process.stdin })) {
  const [key, calls] = line.split(" ");
  try {
    let granted = 0;
    for (let i = 0; i < Number(calls); i++) {
      granted += (await cluster.call("TB.ACQUIRE", key, limit, "1/365d"))[0];
    }
    console.log(`passed ${granted}`);
  } catch (error) {
    console.log(`failed ${error.message}`);
  }
}
cluster.disconnect();
