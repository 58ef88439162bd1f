import { Queue, QueueEvents, Worker } from "bullmq";
import { host, port, serve } from "./serve.mjs";

const connection = { host, port: Number(port) };
const soon = 250; // milliseconds in which a worker begins with a job that its limit lets pass

// A worker begins with at most five jobs in two seconds, with those of all workers of its queue.
await serve("bullmq", async (key) => {
  const queue = new Queue(key, { connection });
  const events = new QueueEvents(key, { connection });
  const limiter = { max: 5, duration: 2000 };
  const worker = new Worker(key, async (job) => job.data.n * 2, { connection, limiter });
  await Promise.all([events.waitUntilReady(), worker.waitUntilReady()]);
  return async () => {
    const job = await queue.add("double", { n: 21 });
    const result = await job.waitUntilFinished(events, soon).catch((error) => error);
    if (result === 42) return true;
    if (!/timed out/.test(result.message)) throw result;
    await job.remove();
    return false;
  };
});
