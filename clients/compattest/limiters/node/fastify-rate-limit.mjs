import rateLimit from "@fastify/rate-limit";
import fastify from "fastify";
import { Redis } from "ioredis";
import { granted, host, port, serve } from "./serve.mjs";

const redis = new Redis(port, host);

await serve("@fastify/rate-limit", async (key) => {
  const app = fastify();
  await app.register(rateLimit, { redis, max: 5, timeWindow: 2000, keyGenerator: () => key });
  app.get("/", () => "page");
  return async () => {
    const response = await app.inject("/");
    return granted(response.statusCode, response.body);
  };
});
