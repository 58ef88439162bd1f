import { Redis } from "ioredis";
import { RedisRateLimiter } from "rolling-rate-limiter";
import { host, port, serve } from "./serve.mjs";

const client = new Redis(port, host);

await serve("rolling-rate-limiter", (key) => {
  const limiter = new RedisRateLimiter({ client, namespace: "rolling:", interval: 2000, maxInInterval: 5 });
  return async () => !(await limiter.limit(key));
});
