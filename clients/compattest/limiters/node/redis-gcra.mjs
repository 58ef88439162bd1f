import { Redis } from "ioredis";
import RedisGCRA from "redis-gcra";
import { host, port, serve } from "./serve.mjs";

const redis = new Redis(port, host);

await serve("redis-gcra", (key) => {
  const limiter = RedisGCRA({ redis, burst: 5, rate: 5, period: 5000 });
  return async () => !(await limiter.limit({ key })).limited;
});
