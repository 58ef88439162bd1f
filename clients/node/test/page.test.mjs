// Runs the quick starts of README.md: each allows two requests, and denies the third.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import typescript from "typescript";

import { patient, threeStatuses } from "./programs.mjs";
import { startServer } from "./server.mjs";

const page = readFileSync(new URL("../README.md", import.meta.url), "utf8");
const starts = [...page.matchAll(/^```(js|ts) (\w+)\n([^]*?)^```/gm)].map(([, ...start]) => start);
const compilerOptions = { target: "es2022", module: "es2022", experimentalDecorators: true, emitDecoratorMetadata: true };

test("there is a quick start for each framework", () => {
    const { exports } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
    const frameworks = Object.keys(exports).filter((name) => ![".", "./testing"].includes(name)).map((name) => name.slice(2));
    assert.deepEqual(starts.map(([, name]) => name).sort(), frameworks.sort());
});

// onNodeRedis is a quick start with the client of node-redis that the page names.
function onNodeRedis(source) {
    const [client] = /createClient\(.*?\)(?=`)/.exec(page);
    return source.replace('{ Redis } from "ioredis"', '{ createClient } from "redis"').replace("new Redis(6379)", client);
}
const express = starts.find(([, framework]) => framework === "express");

const onHTTP = starts.filter(([, framework]) => framework !== "mcp");

for (const [language, framework, source] of [...onHTTP, ["js", "node-redis", onNodeRedis(express[2])]]) {
    test(`the quick start of ${framework}`, async () => {
        const lines = source.split("\n").filter((line) => line.trim() !== "");
        assert.ok(lines.length <= (language === "ts" ? 17 : 13), `${lines.length} lines`);
        const server = await startServer();
        try {
            const { outputText } = typescript.transpileModule(source.replace("6379", String(server.port)), { compilerOptions });
            assert.deepEqual(await threeStatuses(outputText), [200, 200, 429]);
        } finally {
            await server.kill();
        }
    });
}

test("the quick start of mcp", async () => {
    const server = await startServer(), [, , source] = starts.find(([, framework]) => framework === "mcp");
    const client = new Client({ name: "test", version: "1" });
    try {
        const args = ["--input-type=module", "-e", patient(source.replace("6379", String(server.port)))];
        await client.connect(new StdioClientTransport({ command: "node", args, cwd: fileURLToPath(new URL("..", import.meta.url)) }));
        const search = () => client.callTool({ name: "search" });
        await search();
        await search();
        await assert.rejects(search, { code: -32005 });
    } finally {
        await client.close();
        await server.kill();
    }
});
