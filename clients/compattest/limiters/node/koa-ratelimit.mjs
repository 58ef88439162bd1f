import { Redis } from "ioredis";
import Koa from "koa";
import ratelimit from "koa-ratelimit";
import { host, port, requests, serve } from "./serve.mjs";

const db = new Redis(port, host);

await serve("koa-ratelimit", (key) => {
  const app = new Koa({ silent: true });
  app.use(ratelimit({ driver: "redis", db, duration: 2000, max: 5, id: () => key }));
  app.use((context) => (context.body = "page"));
  return requests(app.callback());
});
