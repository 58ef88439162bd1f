import { promisify } from "node:util";
import { Redis } from "ioredis";
import Limiter from "ratelimiter";
import { host, port, serve } from "./serve.mjs";

const db = new Redis(port, host);

await serve("ratelimiter", (id) => {
  const limiter = new Limiter({ db, id, max: 5, duration: 2000 });
  const get = promisify(limiter.get.bind(limiter));
  return async () => (await get()).remaining > 0;
});
