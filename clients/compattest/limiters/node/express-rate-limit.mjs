import express from "express";
import { rateLimit } from "express-rate-limit";
import { RedisStore } from "rate-limit-redis";
import { createClient } from "redis";
import { address, requests, serve } from "./serve.mjs";

const client = await createClient({ url: `redis://${address}` }).connect();

await serve("rate-limit-redis", (key) => {
  const app = express();
  const store = new RedisStore({ sendCommand: (...command) => client.sendCommand(command) });
  app.use(rateLimit({ windowMs: 2000, limit: 5, keyGenerator: () => key, store }));
  app.get("/", (_, response) => response.send("page"));
  return requests(app);
});
