import RateLimiter from "async-ratelimiter";
import { Redis } from "ioredis";
import { host, port, serve } from "./serve.mjs";

const db = new Redis(port, host);

await serve("async-ratelimiter", (id) => {
  const limiter = new RateLimiter({ db, id, max: 5, duration: 2000 });
  return async () => (await limiter.get()).remaining > 0;
});
