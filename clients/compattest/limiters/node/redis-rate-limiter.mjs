import { promisify } from "node:util";
import { Redis } from "ioredis";
import RateLimiter from "redis-rate-limiter";
import { host, port, serve } from "./serve.mjs";

const redis = new Redis(port, host);

await serve("redis-rate-limiter", (key) => {
  const limit = promisify(RateLimiter.create({ redis, key: () => key, limit: 5, window: 2 }));
  return async () => !(await limit({})).over;
});
