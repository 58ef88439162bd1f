// Makes 200 calls to a model within the budgets of docs/recipes/budgets.md. It needs TypeScript, or Node.js 24.
import { randomUUID } from "node:crypto";
import { Redis } from "ioredis";
import { Limiter, Prices, failClosed } from "@stintdb/client";

const redis = new Redis(6379);
const limiter = new Limiter(redis, { whenDown: failClosed() });
const prices = new Prices({ large: { input: "3", output: "15" } }); // dollars for a million tokens
const most = prices.cost("large", { input: 8000, output: 8400 }); // $0.15

async function askTheModel(prompt: string) {
    return { text: "hello", used: { input: 2000, output: 3500 } }; // your model
}

async function answer(tenant: string, user: string, prompt: string) {
    const request = { caller: tenant, tokens: most, id: `call:${randomUUID()}`, remember: "10m", fields: { user }, showWarn: true };
    await using reserved = await limiter.reserving("budget", request);
    if (!reserved.allowed) return null; // until reserved.result.retryAfter ms have passed
    if (reserved.result.limits.some(({ warn }) => warn)) console.log(`80 % of a budget of ${tenant} are used`);
    const { text, used } = await askTheModel(prompt); // if it throws, everything is given back
    reserved.settle(prices.cost("large", used));
    return text;
}

const answers = await Promise.all(Array.from({ length: 200 }, () => answer("acme", "ann", "hi")));
console.log(`${answers.filter((text) => text === "hello").length} answers, ${answers.filter((text) => text === null).length} denials`);
for (const { key, used, limit } of await limiter.policyUsage("budget", "acme", { fields: { user: "ann" } })) {
    console.log(`${key}: $${(used / 1e6).toFixed(4)} of $${(limit / 1e6).toFixed(2)}`);
}
limiter.close();
redis.disconnect();
