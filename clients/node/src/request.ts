import type { LimitLike } from "./limit.js";
import type { Known } from "./options.js";
import type { Duration } from "./rates.js";

/** A key, of any bytes. One of more than 200 bytes is sent in a shortened form. */
export type Key = string | Uint8Array;

/** The options of a request. */
export interface RequestOptions {
    /** The number asked of each limit without a cost, 1 by default. */
    tokens?: number;
    /** Granted only if so much remains: a number of tokens, or a percentage such as "10%". */
    keep?: number | string;
    /** Grants may be reserved this far ahead; wait for the result's `wait` before acting. */
    maxWait?: Duration;
    /** The key under which the server remembers a grant, so that the request can be sent again and settled. It needs `remember`. */
    id?: Key;
    /** How long a grant with an id can be settled. */
    remember?: Duration;
    /** Answers alike, and takes nothing. */
    peek?: boolean;
    /** Has {@link LimitState.granted} set if the last limit is a balance, and {@link LimitState.warn} as `showWarn` of a check does. */
    split?: boolean;
}

/** The names of {@link RequestOptions}. */
export const requestOptions = { tokens: true, keep: true, maxWait: true, id: true, remember: true, peek: true, split: true } satisfies Known<RequestOptions>;

/** The options of {@link Limiter.check}. */
export interface CheckOptions extends RequestOptions {
    /** The values of the {name} in the keys of the policy, such as a tenant. */
    fields?: Record<string, Key>;
    /** Has {@link LimitState.warn} set for the limits that warn. */
    showWarn?: boolean;
}

/** The names of {@link CheckOptions}. */
export const checkOptions = { ...requestOptions, fields: true, showWarn: true } satisfies Known<CheckOptions>;

/** The options of {@link Limiter.extend}. */
export interface ExtendOptions {
    /** Takes the tokens that are there if they are fewer, at least one of each limit. */
    upTo?: boolean;
    /** The server remembers the reservation at least so long from now on; without it, the end stays. */
    remember?: Duration;
    /** For {@link localShare}: the limits of the reservation. */
    limits?: readonly Keyed[];
    /** Has {@link LimitState.granted} set if the last limit is a balance, to what the request and all its extensions took. */
    split?: boolean;
}

/** The names of {@link ExtendOptions}. */
export const extendOptions = { upTo: true, remember: true, limits: true, split: true } satisfies Known<ExtendOptions>;

/** The options of {@link Limiter.wait}. */
export interface WaitOptions {
    /** 1 by default. */
    tokens?: number;
    /** The longest wait, a year by default. */
    atMost?: Duration;
    /** Ends the wait. */
    signal?: AbortSignal;
    /** Of a request for a place of a concurrency limit: 0 to 9, the most urgent, 5 by default. */
    priority?: number;
}

/** The names of {@link WaitOptions}. */
export const waitOptions = { tokens: true, atMost: true, signal: true, priority: true } satisfies Known<WaitOptions>;

/** One of several limits. */
export interface Keyed {
    key: Key;
    limit: LimitLike;
    /** Its own number of tokens, in place of the request's; 0 only reports its state. */
    cost?: number;
    keep?: number | string;
    /** Of the last limit, a {@link Limit.balance}: it gives what the limits before it cannot give of the cost, or all of it. */
    orElse?: boolean;
}

/** The names of the parts of {@link Keyed}. */
export const keyedParts = { key: true, limit: true, cost: true, keep: true, orElse: true } satisfies Known<Keyed>;
