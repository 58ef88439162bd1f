import { Redis } from "ioredis";
import { RateLimiterRedis, RateLimiterRes } from "rate-limiter-flexible";
import { createClient } from "redis";
import { address, host, port, serve } from "./serve.mjs";

const useRedisPackage = process.argv[3] === "node-redis";
const storeClient = useRedisPackage ? await createClient({ url: `redis://${address}` }).connect() : new Redis(port, host);

await serve("rate-limiter-flexible", (key) => {
  const limiter = new RateLimiterRedis({ storeClient, useRedisPackage, points: 5, duration: 2 });
  return () =>
    limiter.consume(key).then(
      () => true,
      (denied) => {
        if (denied instanceof RateLimiterRes) return false;
        throw denied;
      },
    );
});
