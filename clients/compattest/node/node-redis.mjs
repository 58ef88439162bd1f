import { createClient, ErrorReply } from "redis";
import { CLIENT_NAME } from "./contract.mjs";

export const connectNodeRedis = (host, port, protocol) => connect({ socket: { host, port }, RESP: protocol, name: CLIENT_NAME });

export const connectNodeRedisURL = (url) => connect({ url });

async function connect(options) {
  const client = await createClient(options)
    .on("error", (error) => console.error(error.message))
    .connect();
  return {
    ping: () => client.ping(),
    info: () => client.sendCommand(["CLIENT", "INFO"]),
    send: (...command) => client.sendCommand(command),
    pipeline: async (commands) => {
      // Commands sent in one tick travel together.
      const results = await Promise.allSettled(commands.map((command) => client.sendCommand(command)));
      return results.map(({ value, reason }) => reason ?? value);
    },
    transaction: (commands) => commands.reduce((multi, command) => multi.addCommand(command), client.multi()).exec(),
    del: (key) => client.del(key),
    state: (key) => Promise.all([client.exists(key), client.type(key), client.ttl(key), client.pTTL(key)]),
    isServerError: (error) => error instanceof ErrorReply,
    close: () => client.close(),
  };
}
