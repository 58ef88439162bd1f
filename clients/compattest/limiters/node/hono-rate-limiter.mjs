import { RedisStore } from "@hono-rate-limiter/redis";
import { Hono } from "hono";
import { rateLimiter } from "hono-rate-limiter";
import { createClient } from "redis";
import { address, granted, serve } from "./serve.mjs";

const redis = await createClient({ url: `redis://${address}` }).connect();
const client = {
  scriptLoad: (script) => redis.scriptLoad(script),
  evalsha: (sha1, keys, values) => redis.evalSha(sha1, { keys, arguments: values.map(String) }),
  decr: (key) => redis.decr(key),
  del: (key) => redis.del(key),
};

await serve("@hono-rate-limiter/redis", (key) => {
  const app = new Hono();
  app.use(rateLimiter({ windowMs: 2000, limit: 5, keyGenerator: () => key, store: new RedisStore({ client }) }));
  app.get("/", (context) => context.text("page"));
  return async () => {
    const response = await app.request("/");
    return granted(response.status, await response.text());
  };
});
