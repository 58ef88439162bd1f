import { RefusedError, type StintError } from "./errors.js";
import type { Limit } from "./limit.js";

/** The retryAfter of a request for more tokens than the limit can ever grant. */
export const never = -1;

/** The origin of a decision: Stint, tokens that it has lent to this process, this process's share while it is gone, or the policy. */
export type Source = "server" | "leased" | "local" | "fallback";

/** The answer to one request. Times are in milliseconds. */
export interface Result {
    /** Whether to go ahead. */
    allowed: boolean;
    /** Tokens taken, 0 when denied. */
    granted: number;
    /** The largest number that can be granted at once. */
    limit: number;
    /** Whole tokens left, 0 when the fallback decided. After force it may be below zero. */
    remaining: number;
    /** After a denial, the time until the same request would be allowed if nobody else takes tokens, or {@link never}. */
    retryAfter: number;
    /** After a denial, whether waiting does not help: a {@link Limit.balance} lacks credits, and a payment adds them. */
    needsPayment?: boolean;
    /** After a grant, the time to wait before going ahead: a place in a queue, or a reservation. */
    wait: number;
    /** The time until the key is at its full limit. */
    resetAfter: number;
    /** Whether the use of the limit has reached its threshold; only of a limit with {@link Limit.warn}. Of several limits, whether any has. */
    warn?: boolean;
    source: Source;
    /** Why Stint did not decide, unless source is "server". */
    cause?: StintError;
}

/**
 * The state of one of several limits. warn is there for limits that warn; of a policy, if the check has showWarn. granted are the tokens taken from it, where the
 * last limit is a balance; it is there if the request has split.
 */
export interface LimitState { limit: number; remaining: number; resetAfter: number; warn?: boolean; granted?: number }

/** The answer to a request that several limits had to allow. Times are in milliseconds. */
export interface MultiResult {
    allowed: boolean;
    granted: number;
    /** The position of the limit that denied, or -1. For a policy in shadow mode, of the one that would have denied. */
    binding: number;
    retryAfter: number;
    /** As in {@link Result}; of a policy, it is known if the check has split. */
    needsPayment?: boolean;
    wait: number;
    /** The state of each limit in the order given; empty when the fallback decided. */
    limits: LimitState[];
    source: Source;
    cause?: StintError;
}

/** The answer of the limit that denied, or of the one with the smallest remaining fraction. */
export function tightest({ limits, binding, ...answer }: MultiResult): Result {
    const fraction = (state: LimitState): number => (state.limit === 0 ? 0 : state.remaining / state.limit);
    let state: LimitState = { limit: 0, remaining: 0, resetAfter: 0 };
    for (const [i, one] of limits.entries()) {
        if (i === 0 || fraction(one) < fraction(state)) {
            state = one;
        }
    }
    const warn = limits.some((one) => one.warn);
    const { granted: _, ...own } = (answer.allowed ? undefined : limits[binding]) ?? state;
    return { ...answer, ...own, ...(warn && { warn }) };
}

/** The amount that one limit of a settled request is charged, and its state. */
export interface Charge extends LimitState { charged: number }

/** The error about a reply of another form. */
export function unknownForm(reply: unknown): RefusedError {
    return new RefusedError(`the reply has an unknown form; is this a Stint server? ${JSON.stringify(reply)}`);
}

/** A reply of so many integers. */
export function integers(reply: unknown, count: number): number[] {
    if (!Array.isArray(reply) || reply.length !== count || !reply.every((n) => typeof n === "number")) {
        throw unknownForm(reply);
    }
    return reply;
}

/** Reads the reply of an acquire. */
export function parseResult(reply: unknown, limit: Limit, asked: number): Result {
    const [first, most, remaining, wait, reset, warn] = integers(reply, limit.warns ? 6 : 5) as [number, number, number, number, number, number?];
    const isGCRA = limit.algorithm === "gcra"; // limited, limit, remaining, retry_after_s, reset_after_s
    const allowed = isGCRA ? first === 0 : first > 0;
    const after = isGCRA && wait > 0 ? wait * 1000 : wait;
    return {
        allowed, granted: allowed ? (isGCRA ? asked : first) : 0, limit: most, remaining,
        retryAfter: allowed ? 0 : after, wait: allowed && !isGCRA ? after : 0, resetAfter: isGCRA ? reset * 1000 : reset,
        ...(limit.algorithm === "balance" && !allowed && wait < 0 && { needsPayment: true }), ...(warn === undefined ? {} : { warn: warn === 1 }), source: "server",
    };
}

/** Reads the reply of RL.ATMOST: the tokens taken, in place of a grant. */
export function parseAtMost(reply: unknown, { warns }: Limit): Result {
    const parts = integers(reply, warns ? 6 : 5) as [number, number, number, number, number, number?];
    const [granted, limit, remaining, , resetAfter, warn] = parts;
    const answer = { allowed: true, granted, limit, remaining, retryAfter: 0, wait: 0, resetAfter };
    return { ...answer, ...(warn === undefined ? {} : { warn: warn === 1 }), source: "server" };
}

/** Reads the reply of RL.ALL and RL.CHECK. bought says that the last limit is known to be a balance; a reply with SPLIT shows it. */
export function parseMulti(reply: unknown, bought: boolean): MultiResult { return parseParts(reply, 4, bought); }

/** Reads the reply of RL.EXTEND, whose fifth part is the sum of all grants: null if there is no such reservation. */
export function parseExtension(reply: unknown, bought: boolean): MultiResult | null {
    return reply === null ? null : parseParts(reply, 5, bought);
}

function parseParts(reply: unknown, parts: number, bought: boolean): MultiResult {
    if (!Array.isArray(reply) || reply.length !== parts || !Array.isArray(reply[3])) {
        throw unknownForm(reply);
    }
    const [granted, binding, wait] = integers(reply.slice(0, 3), 3) as [number, number, number];
    const limits = (reply[3] as unknown[]).map((each) => {
        const count = Array.isArray(each) ? Math.min(Math.max(3, each.length), 5) : 3;
        const [limit, remaining, resetAfter, warn = -1, taken] = integers(each, count) as [number, number, number, number?, number?];
        return { limit, remaining, resetAfter, ...(warn >= 0 && { warn: warn === 1 }), ...(taken !== undefined && { granted: taken }) };
    });
    const allowed = granted > 0, last = limits.at(-1);
    const needsPayment = !allowed && wait < 0 && binding === limits.length - 1 && (bought || last?.granted !== undefined);
    return { allowed, granted, binding, retryAfter: allowed ? 0 : wait, ...(needsPayment && { needsPayment }), wait: allowed ? wait : 0, limits, source: "server" };
}

/** Reads the reply of RL.SETTLE and RL.CANCEL: null if there is no such reservation. */
export function parseCharges(reply: unknown): Charge[] | null {
    if (reply === null) {
        return null;
    }
    if (!Array.isArray(reply)) {
        throw unknownForm(reply);
    }
    return reply.map((each) => {
        const [charged, limit, remaining, resetAfter] = integers(each, 4) as [number, number, number, number];
        return { charged, limit, remaining, resetAfter };
    });
}
