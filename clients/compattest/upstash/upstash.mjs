// Upstash's own libraries against the HTTP port of a server: node upstash.mjs URL PASSWORD. It prints one line for each check.
import { Redis } from "@upstash/redis";
import { Ratelimit } from "@upstash/ratelimit";

const [url, token] = process.argv.slice(2);
const redis = new Redis({ url, token });
const print = (name, value) => console.log(`${name}: ${JSON.stringify(value)}`);

print("set", await redis.set("text", "bär"));
print("get", await redis.get("text"));
print("incr", await redis.incr("n"));
print("missing", await redis.get("missing"));
print("hash", [await redis.hset("h", { f: "v", g: 2 }), await redis.hgetall("h")]);
print("pipeline", await redis.pipeline().set("x", { json: 1 }).get("x").exec());
print("multi", await redis.multi().incr("n").incr("n").exec());
print("eval", await redis.eval("return {KEYS[1], ARGV[1], 3}", ["k"], ["v"]));
print("error", await redis.lpush("text", 1).catch((e) => e.message.includes("WRONGTYPE")));
print("password", await new Redis({ url, token: "wrong", retry: false }).get("text").catch((e) => e.message.includes("the password is wrong")));

const limiters = {
  fixedWindow: Ratelimit.fixedWindow(2, "1 d"),
  slidingWindow: Ratelimit.slidingWindow(2, "1 d"),
  tokenBucket: Ratelimit.tokenBucket(2, "1 d", 2),
};
for (const [name, limiter] of Object.entries(limiters)) {
  const ratelimit = new Ratelimit({ redis, limiter, prefix: name, ephemeralCache: false });
  const answers = [];
  for (let i = 0; i < 3; i++) {
    const { success, limit, remaining } = await ratelimit.limit("user");
    answers.push([success, limit, remaining]);
  }
  const left = (await ratelimit.getRemaining("user")).remaining;
  await ratelimit.resetUsedTokens("user");
  print(name, [...answers, left, (await ratelimit.limit("user")).success]);
}
