import { AsyncLocalStorage } from "node:async_hooks";
import { randomUUID } from "node:crypto";
import type { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import type { RequestHandlerExtra } from "@modelcontextprotocol/sdk/shared/protocol.js";
import type { CallToolRequest, ServerNotification, ServerRequest } from "@modelcontextprotocol/sdk/types.js";
import { mustBeFunction, shown } from "../arguments.js";
import { count } from "../count.js";
import { InvalidError, StintError, UnavailableError } from "../errors.js";
import type { Limiter } from "../limiter.js";
import { type Known, mustKnow } from "../options.js";
import type { Duration } from "../rates.js";
import type { RequestOptions } from "../request.js";
import type { MultiResult } from "../result.js";
import { BudgetSpentError, type BudgetStream } from "../stream.js";
import { callerOf } from "./caller.js";
import { type Denial, type Limits, denial } from "./denial.js";

export type { Denial, Limits } from "./denial.js";

/** The code of the JSON-RPC error, from the range that MCP leaves to implementations. */
export const limitExceeded = -32005;

/** The code of the draft SEP-3304, for a refusal that a retry can pass: see {@link McpOptions.code}. */
export const rateLimited = -32023;

/** What the SDK hands to handlers beside a request. */
export type Extra = RequestHandlerExtra<ServerRequest, ServerNotification>;

/** A call of a tool. What the client says in it about itself is not verified. */
export interface Call {
    agent: string;
    tool: string;
    arguments: Record<string, unknown>;
    extra: Extra;
}

/** The options of {@link rateLimit}. */
export interface McpOptions {
    /** The limits of a call by the names that a denied agent reads, {} for none; or the name of a policy on the server. */
    limits: string | ((call: Call) => Limits);
    /** {@link byToken} by default. */
    agent?: (extra: Extra) => string;
    /** The most tokens that a call may use. It takes them from each limit without a cost, and is charged what it {@link used}. */
    most?: (call: Call) => number;
    /** In place of `most`: a call reserves so many tokens at a time, and more while it can {@link spend} them. */
    step?: number;
    /** The values of the {name} in the keys of the policy. Calls for which one is "" share it: it is "anonymous". */
    fields?: (call: Call) => Record<string, string>;
    /** The names of the limits of the policy that a denied agent reads, in the order of the policy. */
    names?: readonly string[];
    /** The time in which a call with `most` must end, and one with `step` spend again: 1h by default. */
    remember?: Duration;
    /**
     * {@link limitExceeded} by default. With {@link rateLimited}, `data` has the form of the draft: `limit` and
     * `remaining` are numbers, and the name of the limit is `limitName`. A refusal that no retry can pass keeps {@link
     * limitExceeded} and its form.
     */
    code?: typeof limitExceeded | typeof rateLimited;
    /** Called with each error of Stint about a call. By default it writes to the console. */
    onError?: (error: StintError) => void;
}

const mcpOptions = {
    limits: true, agent: true, most: true, step: true, fields: true, names: true, remember: true, code: true, onError: true,
} satisfies Known<McpOptions>;

/**
 * Identifies an agent by its access token, which the server has verified: by the `sub` in the extra data of its verifier, else by its
 * client. Without one the agent is "": all of them share their limits. On stdio that is the process that started the server.
 */
export function byToken({ authInfo }: Extra): string {
    if (authInfo === undefined) {
        return "";
    }
    const { sub, iss } = authInfo.extra ?? {};
    if (typeof sub !== "string") {
        return `client:${encodeURIComponent(authInfo.clientId)}`;
    }
    return `subject:${encodeURIComponent(typeof iss === "string" ? iss : "")}:${encodeURIComponent(sub)}`;
}

interface UsageOfCall { tokens?: number; stream?: BudgetStream }

const usages = new AsyncLocalStorage<UsageOfCall>();

/** Says in a tool that this call has used so many tokens, besides those said before. */
export function used(tokens: number): void {
    count(tokens, "tokens", 0);
    const usage = usages.getStore();
    if (usage !== undefined) {
        usage.tokens = (usage.tokens ?? 0) + tokens;
    }
}

/**
 * Counts tokens in a tool before it uses them. It throws {@link BudgetSpentError} if a limit denies them: then the tool
 * must end. It is for {@link McpOptions.step}; without it, it is {@link used}.
 */
export async function spend(tokens: number): Promise<void> {
    const stream = usages.getStore()?.stream;
    if (stream === undefined) {
        used(tokens);
    } else {
        await stream.add(tokens);
    }
}

/** A refusal, which the SDK sends as an error of JSON-RPC. */
class LimitExceededError extends Error {
    readonly code: number;
    readonly data: { tool: string } & Record<string, unknown>;

    constructor(tool: string, { message, ...data }: Denial, code: number) {
        super(message);
        this.code = data.retryAfterMs === undefined ? limitExceeded : code;
        this.data = { tool, ...(this.code === rateLimited ? asDrafted(data) : data) };
    }
}

/** A denial as SEP-3304 has it, whose numbers are left out if they are not known. */
function asDrafted(denial: Omit<Denial, "message">): Record<string, unknown> {
    const { limit: limitName, capacity: limit, remaining } = denial;
    const data = { ...denial, limitName, limit, remaining: remaining && Math.max(0, remaining) };
    return Object.fromEntries(Object.entries(data).filter(([, value]) => value !== null));
}

type Handler = (request: CallToolRequest, extra: Extra) => unknown;

/**
 * Limits the calls of the tools that a server registers from now on: call it before the first. A call that does not say what it used
 * is charged all that it took, also if it fails. For a server of the SDK's lower level, write `{ server }`.
 */
export function rateLimit({ server }: Pick<McpServer, "server">, limiter: Limiter, options: McpOptions): void {
    mustKnow(options, mcpOptions, "the middleware");
    for (const name of ["agent", "most", "fields", "onError"] as const) {
        mustBeFunction(options[name], name);
    }
    if (typeof options.limits !== "string") {
        mustBeFunction(options.limits, "limits");
    }
    if (options.names !== undefined && !(typeof options.limits === "string" && Array.isArray(options.names))) {
        throw new InvalidError(`names: must be a list of the names of the limits of a policy, got ${shown(options.names)}`);
    }
    if (options.step !== undefined && options.most !== undefined) {
        throw new InvalidError(`step: a call has the most that it may use, or a step, not both, got ${shown(options.step)}`);
    }
    if (![undefined, limitExceeded, rateLimited].includes(options.code)) {
        throw new InvalidError(`code: must be ${limitExceeded} or ${rateLimited}, got ${shown(options.code)}`);
    }
    try {
        server.assertCanSetRequestHandler("tools/call");
    } catch (cause) {
        throw new InvalidError("rateLimit must be called before the first tool is registered, and capabilities not name tools", { cause });
    }
    const set = server.setRequestHandler.bind(server) as (schema: unknown, handler: Handler) => void;
    const limited = (handler: Handler): Handler => (request, extra) => {
        const isCall = (request.method as string) === "tools/call";
        return isCall ? decide(() => handler(request, extra), limiter, options, request.params, extra) : handler(request, extra);
    };
    server.setRequestHandler = ((schema: unknown, handler: Handler) => { set(schema, limited(handler)); }) as typeof server.setRequestHandler;
}

/** Lets a call of a tool through, or throws a {@link LimitExceededError}. */
async function decide(handle: () => unknown, limiter: Limiter, options: McpOptions, params: CallToolRequest["params"], extra: Extra): Promise<unknown> {
    const { agent = byToken, most, onError = (error: StintError) => { console.error(`rate limit of tools: ${error.message}`); } } = options;
    const call: Call = { agent: agent(extra), tool: params.name, arguments: params.arguments ?? {}, extra };
    if (options.step !== undefined) {
        return await spendInSteps(handle, limiter, options, call, options.step, onError);
    }
    const id = `mcp:${randomUUID()}`;
    const finish = async (end: () => Promise<unknown>): Promise<void> => {
        try {
            await end();
        } catch (error) { // a server that is gone is no error of a call that was made
            onError(mustBeStints(error));
        }
    };
    const { result, names } = await ask(limiter, options, call, most === undefined ? {} : { tokens: most(call), id, remember: options.remember ?? "1h" }, onError);
    if (!result.allowed) {
        if (most !== undefined && result.cause instanceof UnavailableError) { // the server may have granted it
            await finish(() => limiter.cancel(id));
        }
        throw refusal(call, names, result, options);
    }
    const usage: UsageOfCall = {};
    try {
        return await usages.run(usage, handle);
    } finally {
        const { tokens } = usage;
        if (most !== undefined && tokens !== undefined) {
            await finish(() => limiter.settle(id, tokens));
        }
    }
}

/** Lets a call through that reserves its tokens a step at a time. */
async function spendInSteps(
    handle: () => unknown, limiter: Limiter, options: McpOptions, call: Call, step: number,
    onError: (error: StintError) => void,
): Promise<unknown> {
    const { limits, remember = "1h" } = options;
    const named = typeof limits === "string" ? {} : limits(call), keyed = Object.values(named);
    if (typeof limits !== "string" && keyed.length === 0) {
        return await handle();
    }
    const ofPolicy = typeof limits === "string" && { caller: callerOf(call.agent), fields: fieldsOf(options, call) };
    let stream: BudgetStream;
    try {
        stream = await limiter.streaming(typeof limits === "string" ? limits : keyed, { step, remember, ...ofPolicy });
    } catch (error) {
        if (!(error instanceof BudgetSpentError)) {
            onError(mustBeStints(error));
        }
        throw refusal(call, Object.keys(named), error instanceof BudgetSpentError ? error.result : undecided, options);
    }
    const usage: UsageOfCall = { stream };
    try {
        return await usages.run(usage, handle);
    } finally {
        if (usage.tokens !== undefined) {
            stream.settle(usage.tokens);
        }
        await stream[Symbol.asyncDispose]();
        if (stream.error !== undefined) { // a server that is gone is no error of a call that was made
            onError(stream.error);
        }
    }
}

const unknown = { granted: 0, binding: -1, retryAfter: 0, wait: 0, limits: [] };
const unlimited: MultiResult = { ...unknown, allowed: true, source: "server" };
const undecided: MultiResult = { ...unknown, allowed: false, source: "fallback" };

/** The decision on a call, and the names of its limits. An error about the request denies it. */
async function ask(
    limiter: Limiter, options: McpOptions, call: Call, request: RequestOptions, onError: (error: StintError) => void,
): Promise<{ result: MultiResult; names: string[] }> {
    try {
        if (typeof options.limits === "string") {
            const check = { ...request, fields: fieldsOf(options, call) };
            return { result: await limiter.check(options.limits, callerOf(call.agent), check), names: [] };
        }
        const named = options.limits(call), names = Object.keys(named);
        return { result: names.length === 0 ? unlimited : await limiter.all(Object.values(named), request), names };
    } catch (error) {
        onError(mustBeStints(error));
        return { result: undecided, names: [] };
    }
}

function fieldsOf({ fields }: McpOptions, call: Call): Record<string, string> {
    return Object.fromEntries(Object.entries(fields?.(call) ?? {}).map(([name, value]) => [name, callerOf(value)]));
}

/** The refusal of a call. Limits of a policy without given names are numbered. */
function refusal({ tool }: Call, named: string[], result: MultiResult, options: McpOptions): LimitExceededError {
    const { limits, names = [], code = limitExceeded } = options;
    const all = typeof limits === "string" ? result.limits.map((_, i) => names[i] ?? `${limits} ${i + 1}`) : named;
    return new LimitExceededError(tool, denial(`The call of the tool ${tool}`, all, result), code);
}

/** An error of Stint. Others are defects, which the SDK reports. */
function mustBeStints(error: unknown): StintError {
    if (!(error instanceof StintError)) {
        throw error;
    }
    return error;
}
