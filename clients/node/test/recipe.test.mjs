// Runs the programs of docs/recipes, and examples/budget.mts: 200 calls at the same time stay within the budget.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { Redis } from "ioredis";
import typescript from "typescript";

import { start } from "./programs.mjs";
import { startServer } from "./server.mjs";

const pageOf = (name) => readFileSync(new URL(`../../../docs/recipes/${name}.md`, import.meta.url), "utf8");
const programs = [...pageOf("llm-tokens").matchAll(/^```(js|ts) program\n([^]*?)^```/gm)].map(([, ...program]) => program);
const compilerOptions = { target: "es2022", module: "es2022" };
const budget = 60_000;
const policy = `TB tokens:{tenant} ${budget} 1/h TB model:{model} 100000 1/h CC calls:{tenant} 200 10m {call}`.split(" ");

// driver follows a program, and prints how many of 200 calls were answered and denied, and whether a failing one gave up.
const driver = `
let spent = 0;
async function askTheModel(prompt) {
    if (prompt === "fail") throw new Error(prompt);
    await Promise.resolve();
    spent += 5500;
    return { text: "hello", used: 5500 };
}
const failed = await answer("ann", "acme", "fail").then(() => false, () => true);
const outcomes = await Promise.all(Array.from({ length: 200 }, () => answer("ann", "acme", "hi")));
console.log(JSON.stringify({ failed, spent, answers: outcomes.filter((text) => text === "hello").length, denials: outcomes.filter((text) => text === null).length }));
process.exit();
`;

test("there are a program with the client and one over HTTP", () => {
    assert.deepEqual(programs.map(([language]) => language), ["ts", "js"]);
});

for (const [language, source] of programs) {
    test(`200 calls at the same time (${language})`, async () => {
        const server = await startServer("--http-listen", "127.0.0.1:0");
        const redis = new Redis(server.port);
        try {
            await redis.call("RL.POLICY", "SET", "llm", ...policy);
            const here = source.replace("6379", String(server.port)).replace("8080", String(server.httpPort)).replace("failClosed() }", "failClosed(), timeout: 60_000 }");
            assert.notEqual(here, source);
            const { failed, spent, answers, denials } = JSON.parse(await start(typescript.transpileModule(here, { compilerOptions }).outputText + driver).ended);
            assert.deepEqual({ failed, spent, calls: answers + denials }, { failed: true, spent: 5500 * answers, calls: 200 });
            assert.ok(answers >= 7 && answers <= 10, `${answers} answers`); // 7 reservations of 8,000 fit; an 11th does not, even if all before are settled
            const [, , , [[, remaining]]] = await redis.call("RL.CHECK", "llm", "ann", 1, "PEEK", "WITH", "tenant", "acme", "model", "large", "call", "nobody");
            assert.equal(remaining, budget - spent - 1); // as if that one token were taken
        } finally {
            redis.disconnect();
            await server.kill();
        }
    });
}

test("200 calls at the same time, for money", async () => {
    const page = pageOf("budgets"), server = await startServer(), redis = new Redis(server.port);
    const source = readFileSync(new URL("../examples/budget.mts", import.meta.url), "utf8");
    const budget = 1_000_000, [, policy] = /^> (RL.POLICY SET budget .*)$/m.exec(page); // micro-dollars, in a window that does not end in the test
    try {
        await redis.call(...policy.replace(" 500000000 ", ` ${budget} `).replaceAll("@month", "87600h").split(" "));
        const here = source.replace("6379", String(server.port)).replace("failClosed() }", "failClosed(), timeout: 60_000 }");
        const lines = (await start(typescript.transpileModule(here, { compilerOptions }).outputText).ended).trim().split("\n");
        const [counts, first, second] = lines.slice(-3), answers = parseInt(counts);
        assert.equal(counts, `${answers} answers, ${200 - answers} denials`);
        assert.ok(answers >= 6 && answers <= 15, counts); // 6 reservations of 150,000 fit; a 16th does not, even if all before are settled
        const [[, , , , , used, , reserved, , , , remaining]] = await redis.call("RL.POLICY", "USAGE", "budget", "acme", "WITH", "user", "ann");
        assert.deepEqual([used, reserved, remaining], [58_500 * answers, 0, budget - 58_500 * answers]);
        assert.deepEqual([first, second], [`tenant:acme: $${(used / 1e6).toFixed(4)} of $1.00`, `user:acme:ann: $${(used / 1e6).toFixed(4)} of $50.00`]);
        assert.deepEqual(new Set(lines.slice(0, -3)), new Set(["80 % of a budget of acme are used"]));
    } finally {
        redis.disconnect();
        await server.kill();
    }
});
