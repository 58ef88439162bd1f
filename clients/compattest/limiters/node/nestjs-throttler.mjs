import "reflect-metadata";
import { Redis } from "ioredis";
import { host, port, serve } from "./serve.mjs";

const library = process.argv[3];
const { ThrottlerStorageRedisService } = await import(library);
const redis = new Redis(port, host);

await serve(library, (key) => {
  const storage = new ThrottlerStorageRedisService(redis);
  return async () => !(await storage.increment(key, 2000, 5, 2000, "default")).isBlocked;
});
