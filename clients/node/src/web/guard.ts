import { createHash } from "node:crypto";
import { mustBeFunction, mustBeText, shown } from "../arguments.js";
import { InvalidError, StintError } from "../errors.js";
import { type LimitLike, limitOf } from "../limit.js";
import type { Limiter } from "../limiter.js";
import { type Known, mustKnow } from "../options.js";
import { type Result, never, tightest } from "../result.js";
import { resolver } from "./address.js";
import { callerOf } from "./caller.js";
import { type FieldStyle, announce, mustBeStyles, wholeSeconds } from "./fields.js";
import type { View } from "./view.js";

/** Identifies the client of a request, which is the framework's own. Requests with the same key share a limit, also those with the key "": for a policy they are "anonymous". */
export type KeyOf<R> = (request: R, view: View) => string;

/** The key of a request. It throws {@link InvalidError} for one that is no text, such as undefined for an anonymous user. */
function textOf<R>(key: KeyOf<R>, request: R, view: View): string {
    const value: unknown = key(request, view);
    if (typeof value !== "string") {
        throw new InvalidError(`key: must return text, got ${String(value)}; return "" for one limit of all such requests`);
    }
    return value;
}

/** The options of the middleware of each framework. */
export interface GuardOptions<R> {
    /** Identifies the limit in the fields of responses. Keys of a limit begin with it and a colon. */
    name: string;
    /** The limit of each client: this, or the name of a policy. */
    limit?: LimitLike;
    /** A policy that is stored on the server. The key is the id of its caller. */
    policy?: string;
    /** {@link byAddress} by default. */
    key?: KeyOf<R>;
    /** The number of tokens of a request, 0 for none; 1 by default. */
    cost?: (request: R) => number;
    /** The fields of responses; ["draft-10", "x-ratelimit"] by default. Retry-After is always sent. */
    fields?: readonly FieldStyle[];
    /** Called with each error about a request, which is then denied. By default it writes to the console. */
    onError?: (error: StintError) => void;
}

/** The names of {@link GuardOptions}. */
export const guardOptions = { name: true, limit: true, policy: true, key: true, cost: true, fields: true, onError: true } satisfies Known<GuardOptions<unknown>>;

/** The fields of a response and, for a denied request, its status and body. */
export interface Answer {
    fields: Record<string, string>;
    denied?: { status: number; body: string };
}

/** Identifies clients by their addresses. Behind proxies, list them as trusted: other senders' X-Forwarded-For is ignored. */
export function byAddress(trustedProxies: readonly string[] = []): KeyOf<unknown> {
    const resolve = resolver(trustedProxies);
    return (_, view) => resolve(view.remote, view.header("x-forwarded-for"));
}

/** Identifies clients by a field such as an API key, hashed. Check its value before: each new one gets a new limit. */
export function byHeader(name: string): KeyOf<unknown> {
    return (_, view) => {
        const value = view.header(name.toLowerCase());
        return value === "" ? "" : createHash("sha256").update(value, "latin1").digest().subarray(0, 18).toString("base64url");
    };
}

/** Identifies requests by their method and path. */
export const byRoute: KeyOf<unknown> = (_, view) => `${view.method} ${view.path}`;

/** Takes the first key that is not "": an API key if there is one, else the address. */
export function firstOf<R>(...keys: KeyOf<R>[]): KeyOf<R> {
    return (request, view) => {
        for (const [i, key] of keys.entries()) {
            const value = textOf(key, request, view);
            if (value !== "") {
                return `${i}:${value}`;
            }
        }
        return "";
    };
}

/** Makes a key of several: each user on each route. */
export function join<R>(...keys: KeyOf<R>[]): KeyOf<R> {
    return (request, view) => keys.map((key) => textOf(key, request, view).replaceAll("|", "||")).join(" | ");
}

const types = "https://iana.org/assignments/http-problem-types#";
const retryWhenDown = 1000; // milliseconds

/** The decision on requests, without a framework. Known are the options of the middleware, with those of a framework. */
export function guard<R>(limiter: Limiter, options: GuardOptions<R>, known: Known<GuardOptions<R>> = guardOptions): (request: R, view: View) => Promise<Answer> {
    mustKnow(options, known, "the middleware");
    const { name, key = byAddress(), cost = () => 1 } = options, ask = question(limiter, options);
    mustBeText(name, "name");
    mustBeFunction(options.onError, "onError");
    for (const [option, value] of Object.entries({ key, cost })) { // programs in JavaScript
        if (typeof (value as unknown) !== "function") {
            throw new InvalidError(`${option}: must be a function of the request, got ${shown(value)}`);
        }
    }
    const onError = options.onError ?? ((error) => { console.error(`rate limit ${name}: ${error.message}`); });
    return async (request, view) => {
        const tokens = cost(request);
        if (tokens === 0) {
            return { fields: {} };
        }
        try {
            const { result, fields } = await ask(textOf(key, request, view), tokens);
            return result.allowed ? { fields } : deny(name, result, fields);
        } catch (error) {
            if (!(error instanceof StintError)) {
                throw error;
            }
            onError(error);
            return deny(name, { allowed: false, granted: 0, limit: 0, remaining: 0, retryAfter: retryWhenDown, wait: 0, resetAfter: 0, source: "fallback" }, {});
        }
    };
}

type Ask = (key: string, tokens: number) => Promise<{ result: Result; fields: Record<string, string> }>;

/** The call that decides on a request, and the fields for its result. */
function question<R>(limiter: Limiter, { name, limit, policy, fields = ["draft-10", "x-ratelimit"] }: GuardOptions<R>): Ask {
    const styles = mustBeStyles(fields);
    if (limit !== undefined && policy === undefined) {
        const own = limitOf(limit);
        return async (key, tokens) => {
            const result = await limiter.allow(`${name}:${key}`, own, tokens);
            return { result, fields: announce(styles, name, result, own) };
        };
    }
    if (policy === undefined || limit !== undefined) {
        throw new InvalidError("limit: the middleware needs a limit or a policy, and not both");
    }
    return async (key, tokens) => {
        const result: Result = tightest(await limiter.check(policy, callerOf(key), { tokens, split: true }));
        return { result, fields: announce(styles, name, result) };
    };
}

/** The problem details of RFC 9457. */
function deny(name: string, result: Result, fields: Record<string, string>): Answer {
    if (result.retryAfter !== never) {
        fields["Retry-After"] = String(Math.max(1, wholeSeconds(result.retryAfter)));
    }
    Object.assign(fields, { "Content-Type": "application/problem+json", "Cache-Control": "no-store" });
    if (result.source === "fallback") {
        const body = { type: `${types}temporary-reduced-capacity`, title: "Requests cannot be counted at present", status: 503 };
        return { fields, denied: { status: 503, body: JSON.stringify(body) } };
    }
    if (result.needsPayment === true) {
        const detail = "The balance has fewer credits than this request needs, and waiting does not help.";
        const body = { type: "about:blank", title: "Payment Required", status: 402, detail, "violated-policies": [name] };
        return { fields, denied: { status: 402, body: JSON.stringify(body) } };
    }
    const body = {
        type: `${types}quota-exceeded`, title: "Too many requests", status: 429,
        ...(result.retryAfter === never && { detail: `This request costs more than the limit of ${result.limit}.` }),
        "violated-policies": [name],
    };
    return { fields, denied: { status: 429, body: JSON.stringify(body) } };
}
