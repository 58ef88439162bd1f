import Bottleneck from "bottleneck";
import { Redis } from "ioredis";
import { host, port, serve } from "./serve.mjs";

const errors = [];
const connection = new Bottleneck.IORedisConnection({ client: new Redis(port, host) });
connection.on("error", (error) => errors.push(error));

await serve("bottleneck", async (id) => {
  const limiter = new Bottleneck({
    id,
    connection,
    highWater: 0,
    strategy: Bottleneck.strategy.OVERFLOW,
    reservoir: 5,
    reservoirRefreshAmount: 5,
    reservoirRefreshInterval: 2000,
  });
  await limiter.ready();
  return () =>
    limiter.schedule(async () => true).catch((dropped) => {
      if (dropped.message !== "This job has been dropped by Bottleneck") throw dropped;
      return false;
    });
});
