import { Cluster, Redis, ReplyError } from "ioredis";
import { CLIENT_NAME } from "./contract.mjs";

export async function connectIoredis(host, port, protocol) {
  const redis = new Redis({ host, port, protocol, connectionName: CLIENT_NAME, lazyConnect: true });
  await redis.connect(); // resolves after the ready check: HELLO, CLIENT SETNAME, CLIENT SETINFO, INFO
  return clientOf(redis);
}

export async function connectIoredisURL(url) {
  const redis = new Redis(url, { lazyConnect: true });
  await redis.connect();
  return clientOf(redis);
}

export async function connectIoredisCluster(nodes, protocol) {
  const cluster = new Cluster(nodes, { lazyConnect: true, redisOptions: { protocol, connectionName: CLIENT_NAME } });
  await cluster.connect(); // resolves once it knows who has the slots
  return clientOf(cluster);
}

// transferLeadership transfers the leadership to another node, by a command to one node.
export async function transferLeadership(node) {
  const redis = new Redis(node);
  try {
    return await redis.call("RAFT", "TRANSFER");
  } finally {
    await redis.quit();
  }
}

function clientOf(redis) {
  return {
    ping: () => redis.ping(),
    info: () => redis.client("INFO"),
    send: (command, ...args) => redis.call(command, ...args),
    pipeline: async (commands) => {
      const results = await addAll(redis.pipeline(), commands).exec();
      return results.map(([error, reply]) => error ?? reply);
    },
    transaction: async (commands) => {
      const results = await addAll(redis.multi(), commands).exec();
      return results.map(([error, reply]) => error ?? reply);
    },
    del: (key) => redis.del(key),
    state: (key) => Promise.all([redis.exists(key), redis.type(key), redis.ttl(key), redis.pttl(key)]),
    isServerError: (error) => error instanceof ReplyError,
    close: () => redis.quit(),
  };
}

function addAll(pipeline, commands) {
  for (const [command, ...args] of commands) {
    pipeline.call(command, ...args);
  }
  return pipeline;
}
