// The middleware for MCP servers, by the SDK's client: in memory, and over HTTP with access tokens.
import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { requireBearerAuth } from "@modelcontextprotocol/sdk/server/auth/middleware/bearerAuth.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { Limiter, failClosed, failOpen } from "@stintdb/client";
import { limitExceeded, rateLimit, rateLimited, spend, used } from "@stintdb/client/mcp";
import { FakeLimiter } from "@stintdb/client/testing";
import express from "express";
import { Redis } from "ioredis";
import * as z from "zod";

import { nowhere, startServer } from "./server.mjs";

function makeServer(limiter, options) {
    const server = new McpServer({ name: "library", version: "1" });
    rateLimit(server, limiter, options);
    const answer = { content: [{ type: "text", text: "answered" }] };
    server.registerTool("search", {}, () => answer);
    server.registerTool("ask", { inputSchema: { tokens: z.number() } }, async ({ tokens }) => {
        used(tokens - 1);
        await Promise.resolve();
        used(1);
        return answer;
    });
    server.registerTool("fail", {}, () => { throw new Error("this tool is broken"); });
    return server;
}

/** A client of a server in this process. */
async function connect(t, limiter, options) {
    const client = new Client({ name: "test", version: "1" });
    const [here, there] = InMemoryTransport.createLinkedPair();
    await Promise.all([makeServer(limiter, options).connect(there), client.connect(here)]);
    t.after(() => client.close());
    return client;
}

/** A limiter on a server of its own. */
async function onServer(t) {
    const server = await startServer();
    t.after(() => server.kill());
    const redis = new Redis(server.port);
    const limiter = new Limiter(redis, { whenDown: failClosed(), timeout: 60_000 });
    t.after(() => { limiter.close(); redis.disconnect(); });
    return { redis, limiter };
}

const byTool = (most) => ({ agent, tool }) => ({
    "calls of this tool": { key: `tool:${agent}:${tool}`, limit: "2/day" },
    "calls of this server": { key: "server:library", limit: `${most}/day` },
});

async function passes(client, name, args = {}) {
    const result = await client.callTool({ name, arguments: args });
    assert.notEqual(result.isError, true, JSON.stringify(result));
}

async function refusal(client, name, args = {}) {
    const error = await client.callTool({ name, arguments: args }).then(() => assert.fail(`${name} was not refused`), (reason) => reason);
    assert.equal(error.code, limitExceeded, error.stack);
    return error;
}

test("tools and server", async (t) => {
    const client = await connect(t, new FakeLimiter(), { limits: byTool(3) });
    await passes(client, "search");
    await passes(client, "search");
    const denied = await refusal(client, "search");
    assert.equal(denied.message, 'MCP error -32005: The call of the tool search was denied by the limit "calls of this tool": 0 of 2 are left. Try again in 43200 seconds.');
    assert.deepEqual(denied.data, { tool: "search", limit: "calls of this tool", retryAfterSeconds: 43_200, retryAfterMs: 43_200_000, remaining: 0, capacity: 2 });
    await passes(client, "ask", { tokens: 1 }); // what the tool's limit denied, the server's has not counted
    assert.equal((await refusal(client, "ask", { tokens: 1 })).data.limit, "calls of this server");
    assert.equal((await client.listTools()).tools.length, 3);
});

test("agents are known by their tokens", async (t) => {
    const { limiter } = await onServer(t);
    const seen = [], limits = (call) => { seen.push(call.agent); return byTool(100)(call); };
    const verifier = {
        verifyAccessToken: async (token) => {
            const [sub, clientId] = token.split("/");
            return { token, clientId, scopes: [], expiresAt: 4e9, ...(sub && { extra: { sub, iss: "here" } }) };
        },
    };
    const app = express();
    app.post("/mcp", requireBearerAuth({ verifier }), express.json(), async (request, response) => {
        const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined });
        response.on("close", () => { void transport.close(); });
        await makeServer(limiter, { limits }).connect(transport);
        await transport.handleRequest(request, response, request.body);
    });
    const listening = app.listen(0, "127.0.0.1");
    await once(listening, "listening");
    t.after(() => { listening.closeAllConnections(); listening.close(); });
    const overHTTP = async (token, name, calls) => {
        const client = new Client({ name, version: "1" });
        const requestInit = { headers: { Authorization: `Bearer ${token}` } };
        await client.connect(new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${listening.address().port}/mcp`), { requestInit }));
        await calls(client);
        await client.close();
    };
    await overHTTP("ann/web", "one", (client) => passes(client, "search"));
    // Neither another session, nor another name, nor another client of the same user is another agent.
    await overHTTP("ann/cli", "another", async (client) => {
        await passes(client, "search");
        await refusal(client, "search");
    });
    await overHTTP("bob/web", "one", (client) => passes(client, "search"));
    await overHTTP("/web", "one", (client) => passes(client, "search"));
    assert.deepEqual(seen, [...Array(3).fill("subject:here:ann"), "subject:here:bob", "client:web"]);
});

test("budgets are settled", async (t) => {
    const { limiter } = await onServer(t);
    const limits = () => ({
        "calls": { key: "calls", limit: "FW 100 10d", cost: 1 },
        "tokens of this conversation": { key: "tokens", limit: "FW 10000 10d" },
    });
    const left = async () => (await limiter.all(Object.values(limits()), { peek: true })).limits.map((state) => state.remaining + 1);
    const client = await connect(t, limiter, { limits, most: () => 2000 });
    await passes(client, "ask", { tokens: 1500 });
    assert.deepEqual(await left(), [99, 8500]);
    await passes(client, "ask", { tokens: 7000 }); // it needed more than it had reserved
    assert.deepEqual(await left(), [98, 1500]);
    const denied = await refusal(client, "ask", { tokens: 1 });
    assert.deepEqual([denied.data.limit, denied.data.remaining], ["tokens of this conversation", 1500]);
    assert.deepEqual(await left(), [98, 1500]);
    await limiter.reset("tokens");
    await passes(client, "search"); // it says nothing
    assert.equal((await client.callTool({ name: "fail" })).isError, true);
    assert.deepEqual(await left(), [96, 6000]);
});

test("a tool that spends its budget step by step", async (t) => {
    const { redis, limiter } = await onServer(t);
    await redis.call(..."RL.POLICY SET tools FW tokens:{}:{team} 1000 10d".split(" "));
    const server = new McpServer({ name: "library", version: "1" }), options = { step: 100, fields: () => ({ team: "" }), agent: () => "ann" };
    rateLimit(server, limiter, { ...options, limits: "tools" });
    server.registerTool("talk", { inputSchema: { words: z.number(), total: z.number().optional() } }, async ({ words, total }) => {
        for (let i = 0; i < words; i++) { await spend(10); }
        if (total !== undefined) { used(total); }
        return { content: [{ type: "text", text: "talked" }] };
    });
    const client = new Client({ name: "test", version: "1" }), [here, there] = InMemoryTransport.createLinkedPair();
    await Promise.all([server.connect(there), client.connect(here)]);
    t.after(() => client.close());
    const left = async () => 1000 - (await limiter.policyUsage("tools", "ann", { fields: { team: "anonymous" } }))[0].used;
    await passes(client, "talk", { words: 30 });
    assert.equal(await left(), 700);
    await passes(client, "talk", { words: 10, total: 50 });
    assert.equal(await left(), 650);
    const cut = await client.callTool({ name: "talk", arguments: { words: 100 } });
    assert.ok(cut.isError);
    assert.match(cut.content[0].text, /the budget is spent after 650 tokens/);
    assert.equal(await left(), 0);
    assert.equal((await refusal(client, "talk", { words: 1 })).data.limit, "tools 1");
    const unlimited = await connect(t, limiter, { limits: () => ({}), step: 100 });
    await passes(unlimited, "search");
    const absent = await connect(t, limiter, { limits: "absent", step: 100, onError: () => {} });
    assert.equal((await refusal(absent, "search")).data.limit, null);
});

test("policies", async (t) => {
    const { redis, limiter } = await onServer(t);
    await redis.call(..."RL.POLICY SET tools TB tool:{}:{tool} 1 1/d COST 1 FW tokens:{}:{conversation} 5000 10d".split(" "));
    const options = {
        limits: "tools", agent: () => "ann", most: ({ tool }) => (tool === "search" ? 1 : 5000),
        fields: ({ tool, extra }) => ({ tool, conversation: extra._meta?.conversation ?? "" }),
    };
    const client = await connect(t, limiter, options);
    await passes(client, "search");
    assert.equal((await refusal(client, "search")).data.limit, "tools 1");
    assert.equal((await refusal(client, "ask", { tokens: 1 })).data.limit, "tools 2");
    await client.callTool({ name: "ask", arguments: { tokens: 1 }, _meta: { conversation: "b" } });
    await passes(await connect(t, limiter, { ...options, agent: () => "" }), "search");
    const named = await connect(t, limiter, { ...options, names: ["calls"] }), denied = await refusal(named, "search");
    assert.match(denied.message, /The call of the tool search was denied by the limit "calls": 0 of 1 are left\. Try again in \d+ seconds?\.$/);
    assert.equal((await refusal(named, "ask", { tokens: 1 })).data.limit, "tools 2");
});

test("more than a limit ever grants", async (t) => {
    const { limiter } = await onServer(t);
    const client = await connect(t, limiter, { limits: () => ({ tokens: { key: "t", limit: "10/minute" } }), most: () => 11 });
    const denied = await refusal(client, "search");
    assert.match(denied.message, /ever grants, 10\. Do not repeat/);
    assert.equal(denied.data.retryAfterSeconds, null);
    assert.ok(!("retryAfterMs" in denied.data));
    const paid = await connect(t, limiter, { limits: () => ({ credits: { key: "c", limit: "BAL" } }) });
    assert.match((await refusal(paid, "search")).message, /needs more credits than "credits" has, 0/);
});

test("with the code of the draft SEP-3304", async (t) => {
    const limits = () => ({ calls: { key: "calls", limit: "2/day" } });
    const client = await connect(t, new FakeLimiter(), { limits, code: rateLimited });
    await passes(client, "search");
    await passes(client, "search");
    const denied = await client.callTool({ name: "search" }).catch((error) => error);
    assert.equal(denied.code, -32023);
    const data = { tool: "search", limitName: "calls", retryAfterSeconds: 43_200, retryAfterMs: 43_200_000, limit: 2, remaining: 0, capacity: 2 };
    assert.deepEqual(denied.data, data);
    const absent = await connect(t, new FakeLimiter(), { limits: "absent", code: rateLimited, onError: () => {} });
    const unknown = await absent.callTool({ name: "search" }).catch((error) => error);
    assert.deepEqual([unknown.code, unknown.data], [-32023, { tool: "search", retryAfterSeconds: 1, retryAfterMs: 1000 }]);
    const never = await connect(t, (await onServer(t)).limiter, { limits, most: () => 3, code: rateLimited });
    assert.equal((await refusal(never, "search")).data.limit, "calls"); // a retry is of no use
});

test("without Stint", async (t) => {
    const redis = new Redis(nowhere, { lazyConnect: true });
    const open = new Limiter(redis, { whenDown: failOpen(), onBreaker: () => {} });
    const closed = new Limiter(redis, { whenDown: failClosed(), onBreaker: () => {} });
    t.after(() => { open.close(); closed.close(); redis.disconnect(); });
    const passing = await connect(t, open, { limits: byTool(1), most: () => 1, onError: () => {} });
    await passes(passing, "ask", { tokens: 1 });
    await passes(passing, "ask", { tokens: 1 });
    const denied = await refusal(await connect(t, closed, { limits: byTool(1) }), "search");
    assert.match(denied.message, /The call of the tool search cannot be counted at present\. Try again in 1 second\.$/);
    assert.deepEqual(denied.data, { tool: "search", limit: null, retryAfterSeconds: 1, retryAfterMs: 1000, remaining: null, capacity: null });
});

test("errors about a call are refusals, and wrong uses of the middleware are errors", async (t) => {
    const errors = [];
    const client = await connect(t, new FakeLimiter(), { limits: "absent", onError: (error) => { errors.push(error.name); } });
    assert.equal((await refusal(client, "search")).data.limit, null);
    assert.deepEqual(errors, ["RefusedError"]);
    const server = new McpServer({ name: "late", version: "1" });
    server.registerTool("search", {}, () => ({ content: [] }));
    assert.throws(() => { rateLimit(server, new FakeLimiter(), { limits: byTool(1) }); }, /before the first tool/);
    assert.throws(() => { rateLimit(new McpServer({ name: "x", version: "1" }), new FakeLimiter(), { limits: 7 }); }, /limits/);
    for (const [wrong, message] of [[{ code: 5 }, /code: must be/], [{ step: 5, most: () => 5 }, /step: .*, not both/]]) {
        assert.throws(() => { rateLimit(new McpServer({ name: "x", version: "1" }), new FakeLimiter(), { limits: "tools", ...wrong }); }, message);
    }
    for (const wrong of [{ limits: "tools", names: "calls" }, { limits: byTool(1), names: ["calls"] }]) {
        assert.throws(() => { rateLimit(new McpServer({ name: "x", version: "1" }), new FakeLimiter(), wrong); }, /names: must be a list/);
    }
});
