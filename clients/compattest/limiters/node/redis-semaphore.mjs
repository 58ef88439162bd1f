import { Redis } from "ioredis";
import { Semaphore } from "redis-semaphore";
import { host, port, serve } from "./serve.mjs";

const client = new Redis(port, host);

// Five holders, each of which is forgotten after two seconds.
await serve("redis-semaphore", (key) => () => new Semaphore(client, key, 5, { lockTimeout: 2000, refreshInterval: 0, acquireAttemptsLimit: 1 }).tryAcquire());
