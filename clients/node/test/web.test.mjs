// Plays the vectors of HTTP responses through each framework.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { test } from "node:test";

import "reflect-metadata";
import { getRequestListener } from "@hono/node-server";
import { Controller, Get, Module } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import { FastifyAdapter } from "@nestjs/platform-fastify";
import express from "express";
import fastify from "fastify";
import { Hono } from "hono";
import Koa from "koa";

import * as forExpress from "@stintdb/client/express";
import * as forFastify from "@stintdb/client/fastify";
import * as forHono from "@stintdb/client/hono";
import * as forKoa from "@stintdb/client/koa";
import * as forNestJS from "@stintdb/client/nestjs";
import { Limit, Limiter, failClosed, failOpen } from "../dist/esm/index.js";
import { ofReply } from "../dist/esm/errors.js";
import { resolver } from "../dist/esm/web/address.js";
import { announce, mustBeStyles, writeFields } from "../dist/esm/web/fields.js";
import { FakeDriver } from "./fake-driver.mjs";

const vectors = JSON.parse(readFileSync(new URL("../../vectors/vectors.json", import.meta.url), "utf8")).filter((v) => v.call === "http");
const quiet = { onError: () => {} };

const frameworks = {
    express: (limiter, options) => createServer(express().use(forExpress.rateLimit(limiter, options)).get("/", (_, response) => { response.end("ok"); })),
    koa: (limiter, options) => createServer(new Koa().use(forKoa.rateLimit(limiter, options)).use((context) => { context.body = "ok"; }).callback()),
    fastify: async (limiter, options) => {
        const app = fastify();
        app.addHook("onRequest", forFastify.rateLimit(limiter, options));
        app.get("/", async () => "ok");
        await app.ready();
        return app.server;
    },
    hono: (limiter, options) => createServer(getRequestListener(new Hono().use(forHono.rateLimit(limiter, options)).get("/", (context) => context.text("ok")).fetch)),
    "nestjs on express": async (limiter, options) => await nest(limiter, options),
    "nestjs on fastify": async (limiter, options) => await nest(limiter, options, new FastifyAdapter()),
};

/** Applies a decorator as TypeScript does. */
const decorate = (decorator, target, ...where) => { decorator(target, ...where); };

async function nest(limiter, options, ...adapter) {
    class Hello { get() { return "ok"; } }
    decorate(Get("/"), Hello.prototype, "get", Object.getOwnPropertyDescriptor(Hello.prototype, "get"));
    decorate(Controller(), Hello);
    class App {}
    decorate(Module({ controllers: [Hello] }), App);
    const app = await NestFactory.create(App, ...adapter, { logger: false });
    app.useGlobalGuards(forNestJS.rateLimit(limiter, options));
    await app.init();
    await app.getHttpAdapter().getInstance().ready?.();
    return app.getHttpServer();
}

async function get(server, headers = {}) {
    await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
    try {
        const response = await fetch(`http://127.0.0.1:${server.address().port}/`, { headers: { connection: "close", ...headers } });
        return { status: response.status, body: await response.text(), fields: Object.fromEntries(response.headers) };
    } finally {
        await new Promise((resolve) => server.close(resolve));
    }
}

function reply(text) {
    const lines = text.trim().split("\r\n");
    const next = () => {
        const line = lines.shift(), n = Number(line.slice(1));
        return line.startsWith("*") ? Array.from({ length: n }, next) : n;
    };
    if (!text.startsWith("*")) { throw ofReply(text.slice(1).trim()); }
    return next();
}

function limitOf({ algorithm, tokens, count, period_ms: period, window }) {
    switch (algorithm) {
        case "FW": return Limit.window(tokens, window ?? period);
        case "SW": return Limit.slidingWindow(tokens, period);
        case "SL": return Limit.slidingLog(tokens, period);
        case "CL": return Limit.gcra(tokens - 1, count, period / 1000);
        case "LQ": return Limit.per(count, period).queue(tokens);
        default: return Limit.per(count, period).burst(tokens);
    }
}

const by = ({ policy, limit }) => policy === undefined ? { limit: limitOf(limit) } : { policy };

for (const [framework, serve] of Object.entries(frameworks)) {
    for (const v of vectors) {
        test(`${framework}: ${v.name}`, async () => {
            const driver = new FakeDriver(() => reply(v.reply));
            const limiter = new Limiter(driver, { whenDown: v.when_down === "fail_open" ? failOpen() : failClosed(), timeout: 10_000 });
            const got = await get(await serve(limiter, { name: "api", ...by(v), key: () => v.key, cost: () => v.tokens, ...quiet }));
            assert.deepEqual(driver.sent[0], v.command);
            assert.equal(got.status, v.response.status);
            assert.equal(got.body.trim(), v.response.body.trim());
            const names = ["ratelimit", "ratelimit-policy", "retry-after", "x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"];
            for (const name of got.status === 200 ? names : [...names, "content-type", "cache-control"]) {
                const wanted = framework.startsWith("nestjs") && name === "content-type" ? "application/json" : v.response.fields[name];
                assert.equal(got.fields[name]?.split("; charset")[0], wanted, name);
            }
            limiter.close();
        });
    }

    test(`${framework}: keys by address and route`, async () => {
        const driver = new FakeDriver(() => [1, 10, 9, 0, 100]);
        const { byAddress, byRoute, join } = forExpress;
        const limiter = new Limiter(driver, { whenDown: failOpen() });
        const options = { name: "api", limit: "10/s", key: join(byAddress(["127.0.0.0/8"]), byRoute) };
        await get(await serve(limiter, options), { "x-forwarded-for": "192.0.2.9, 198.51.100.7" });
        assert.equal(driver.sent[0][1], "api:198.51.100.7/32 | GET /");
        limiter.close();
    });

    test(`${framework}: a policy of the server`, async () => {
        const driver = new FakeDriver(() => [0, 1, 2500, [[100, 99, 0], [5, 0, 60_000]]]);
        const { byAddress, byHeader, firstOf } = forExpress;
        const limiter = new Limiter(driver, { whenDown: failOpen() });
        const got = await get(await serve(limiter, { name: "api", policy: "llm", key: firstOf(byHeader("X-API-Key"), byAddress()), cost: () => 8 }));
        assert.deepEqual(driver.sent, [["RL.CHECK", "llm", "1:127.0.0.1/32", "8", "SPLIT"]]);
        assert.equal(got.status, 429);
        assert.equal(got.fields["ratelimit"], '"api";r=0;t=3');
        assert.equal(got.fields["ratelimit-policy"], '"api";q=5');
        assert.equal(got.fields["retry-after"], "3");
        await get(await serve(limiter, { name: "api", policy: "llm", key: byHeader("X-API-Key") }));
        assert.equal(driver.sent[1][2], "anonymous");
        limiter.close();
    });
}

test("addresses of clients", () => {
    const resolve = resolver(["10.0.0.0/8", "2001:db8:1::/48"]);
    for (const [remote, forwarded, want] of [
        ["192.0.2.1", "198.51.100.1", "192.0.2.1/32"], // no trusted proxy
        ["10.0.0.1", "203.0.113.9, 198.51.100.1", "198.51.100.1/32"],
        ["10.0.0.1", "198.51.100.1:8080, 10.2.3.4", "198.51.100.1/32"],
        ["::ffff:10.0.0.1", "[2001:db8:2:3:4::5]:443", "2001:db8:2:3::/64"],
        ["2001:db8:1::1", "nonsense", "2001:db8:1::/64"],
        ["fe80::1%eth0", "", "fe80::/64"],
        ["64:ff9b::192.0.2.7", "", "192.0.2.7/32"],
        ["[64:ff9b::c000:207]:443", "", "192.0.2.7/32"],
        ["64:ff9b::1:c000:207", "", "64:ff9b::/64"],
        ["64:ff9b:1::c000:207", "", "64:ff9b:1::/64"],
        ["", "198.51.100.1", ""],
    ]) {
        assert.equal(resolve(remote, forwarded), want, `${remote} ${forwarded}`);
    }
    assert.throws(() => resolver(["10.0.0.0/33"]), /trustedProxies/);
});

test("keys and costs are functions, and keys are text", async () => {
    const driver = new FakeDriver(() => [1, 10, 9, 0, 100]), limiter = new Limiter(driver, { whenDown: failOpen() });
    for (const wrong of [{ key: "ip" }, { cost: 5 }]) {
        assert.throws(() => forExpress.rateLimit(limiter, { name: "api", limit: "1/s", ...wrong }), /must be a function of the request/);
    }
    const user = (request) => request.user;
    for (const key of [user, forExpress.firstOf(user, () => "ann"), forExpress.join(user)]) {
        const errors = [];
        const got = await get(frameworks.express(limiter, { name: "api", limit: "1/s", key, onError: (error) => errors.push(error.message) }));
        assert.equal(got.status, 503);
        assert.match(errors[0], /key: must return text, got undefined/);
    }
    assert.deepEqual(driver.sent, []);
    limiter.close();
});

test("middleware takes a limit or a policy", () => {
    const limiter = new Limiter(new FakeDriver(() => []), { whenDown: failOpen() });
    for (const options of [{ name: "api" }, { name: "api", limit: "1/s", policy: "llm" }]) {
        assert.throws(() => forExpress.rateLimit(limiter, options), /a limit or a policy, and not both/);
    }
    limiter.close();
});

test("the subpaths load as CommonJS", () => {
    const require = createRequire(import.meta.url);
    for (const framework of ["express", "fastify", "hono", "koa", "nestjs"]) {
        assert.equal(typeof require(`@stintdb/client/${framework}`).rateLimit, "function");
    }
});

test("byAddress in Express", async () => {
    const driver = new FakeDriver(() => [0, 100, 0, 600, 60_000]);
    const limiter = new Limiter(driver, { whenDown: failOpen() });
    const app = express().use(forExpress.rateLimit(limiter, { name: "api", limit: "100/minute", key: forExpress.byAddress(["10.0.0.0/8"]) }));
    const got = await get(createServer(app));
    assert.equal(got.status, 429);
    assert.deepEqual(driver.sent, [["TB.ACQUIRE", "api:127.0.0.1/32", "100", "100/minute", "1"]]);
    limiter.close();
});

test("fields say that a limit warns", async () => {
    const replies = [[7, 10, 3, 0, 86_400_000, 0], [1, 10, 2, 0, 86_400_000, 1]]; // the server's
    const limit = Limit.window(10, "1d").warn(80), limiter = new Limiter(new FakeDriver(() => replies.shift()), { whenDown: failClosed() });
    const fieldOf = async (n) => announce(["draft-10"], "api", await limiter.allow("k", limit, n), limit).RateLimit;
    assert.equal(await fieldOf(7), '"api";r=3;t=86400');
    assert.equal(await fieldOf(1), '"api";r=2;t=86400;stint-warn');
    limiter.close();
});

test("fields of each style", async () => {
    const { cases, refused } = JSON.parse(readFileSync(new URL("../../vectors/fields.json", import.meta.url), "utf8"));
    const listOf = (text) => text === "none" ? [] : text.split(",");
    for (const { name, styles, now_ms: now, limit, fields } of cases) {
        const known = (ms) => ms < 0 ? undefined : ms;
        const state = { ...limit, window: known(limit.window_ms), more: known(limit.more_ms), reset: known(limit.reset_ms) };
        assert.deepEqual(writeFields(mustBeStyles(listOf(styles)), state, now), fields, name);
    }
    for (const text of refused) {
        assert.throws(() => mustBeStyles(text.split(",")), /fields: must be a list of draft-10/, text);
    }
    const limiter = new Limiter(new FakeDriver(() => [1, 10, 9, 0, 100]), { whenDown: failOpen() });
    const got = await get(frameworks.express(limiter, { name: "api", limit: "10/s", fields: ["draft-6"] }));
    assert.deepEqual([got.fields.ratelimit, got.fields["ratelimit-remaining"], got.fields["x-ratelimit-limit"]], [undefined, "9", undefined]);
    limiter.close();
});

test("names and times of fields", () => {
    const names = ["a", "a\n", "a\r", "a%0A", "é", "€", "%C3%A9", "\ud800", 'a"'];
    const result = { allowed: false, granted: 0, limit: 5, remaining: 5, retryAfter: -1, wait: 0, resetAfter: 0, source: "server" };
    assert.equal(new Set(names.map((name) => announce(["draft-10"], name, result).RateLimit)).size, names.length);
    assert.deepEqual(announce(["draft-10", "x-ratelimit"], "api", result, Limit.per(5, "1m")), { // more than the limit can ever grant
        "RateLimit-Policy": '"api";q=5;w=60', "RateLimit": '"api";r=5', "X-RateLimit-Limit": "5", "X-RateLimit-Remaining": "5",
    });
});
