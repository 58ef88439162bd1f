// The program takes a package, and a limit other than the usual: ADDRESS PACKAGE CALLS SECONDS. ioredis takes addresses of a
// cluster too: ADDRESS,ADDRESS,...

import { Cluster, Redis } from "ioredis";
import { RateLimiterRedis, RateLimiterRes } from "rate-limiter-flexible";
import { createClient } from "redis";
import { address, host, port, serve } from "./serve.mjs";

const [name, points = 5, duration = 2] = process.argv.slice(3);
const useRedisPackage = name === "node-redis";
const storeClient = await connect();

async function connect() {
  if (useRedisPackage) {
    return createClient({ url: `redis://${address}` })
      .on("error", (error) => console.error(error.message))
      .connect();
  }
  return address.includes(",") ? new Cluster(address.split(",")) : new Redis(port, host);
}

await serve("rate-limiter-flexible", (key) => {
  const limiter = new RateLimiterRedis({ storeClient, useRedisPackage, points: Number(points), duration: Number(duration) });
  return () =>
    limiter.consume(key).then(
      () => true,
      (denied) => {
        if (denied instanceof RateLimiterRes) return false;
        throw denied;
      },
    );
});
