// The middleware as a program in TypeScript uses it, for all requests and for one route. It is compiled, not run.
import { Controller, Get, UseGuards } from "@nestjs/common";
import type { NestExpressApplication } from "@nestjs/platform-express";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import express from "express";
import fastify, { type FastifyRequest } from "fastify";
import { Hono } from "hono";
import { Redis } from "ioredis";
import Koa from "koa";
import { Limiter, failOpen, perSecond } from "@stintdb/client";
import { byAddress, firstOf, rateLimit as forExpress } from "@stintdb/client/express";
import { rateLimit as forFastify } from "@stintdb/client/fastify";
import { rateLimit as forHono } from "@stintdb/client/hono";
import { rateLimit as forKoa } from "@stintdb/client/koa";
import { rateLimit as forMCP, used } from "@stintdb/client/mcp";
import { rateLimit as forNestJS } from "@stintdb/client/nestjs";

const limiter = new Limiter(new Redis(), { whenDown: failOpen() });
const all = { name: "all", limit: perSecond(10).burst(20) };

express()
    .use(forExpress(limiter, all))
    .get("/search", forExpress<express.Request>(limiter, { name: "search", policy: "search", key: (request) => request.hostname }), (_, response) => { response.end(); });

const app = fastify();
app.addHook("onRequest", forFastify(limiter, all));
app.get("/search", { onRequest: forFastify(limiter, { name: "search", limit: "2/minute", key: firstOf<FastifyRequest>((request) => request.hostname, byAddress()) }) }, () => "found");

new Hono()
    .use(forHono(limiter, all))
    .get("/search", forHono(limiter, { name: "search", limit: "2/minute", remote: (context) => context.req.header("cf-connecting-ip") ?? "" }), (context) => context.text("found"));

new Koa().use(forKoa(limiter, all)).use(forKoa<Koa.Context>(limiter, { ...all, key: (context) => context.host }));

@Controller()
export class Search {
    @UseGuards(forNestJS(limiter, { name: "search", limit: "2/minute" }))
    @Get("/search")
    find(): string { return "found"; }
}

export const limitAll = (nest: NestExpressApplication): void => { nest.useGlobalGuards(forNestJS(limiter, all)); };

const tools = new McpServer({ name: "library", version: "1" });
forMCP(tools, limiter, { limits: ({ agent, tool }) => ({ "calls of this tool": { key: `tool:${agent}:${tool}`, limit: "10/minute" } }), most: () => 2000 });
tools.registerTool("search", {}, () => { used(7); return { content: [] }; });

export async function ask(id: string): Promise<number> {
    await using reserved = await limiter.reserving("llm", { caller: "user7", tokens: 8000, id, remember: "10m" });
    if (reserved.allowed) {
        reserved.settle(1200);
    }
    return reserved.result.retryAfter;
}
