import type { Fraction } from "./fraction.js";
import type { FixedWindow } from "./windows.js";

/** The state of a limiter. Times are in nanoseconds since 1970. */
export type State =
    /** Buckets, queues and GCRA: the time at which all tokens are back. */
    | { kind: "meter"; full: Fraction }
    | FixedWindow
    /** Sliding logs: the grants, in the order of their times. */
    | { kind: "log"; grants: readonly { at: bigint; tokens: bigint }[] }
    /** Sliding windows: the number of a window, its tokens, and those of the one before. */
    | { kind: "counters"; number: bigint; current: bigint; before: bigint }
    /** Concurrency: the holders, and the ends of their leases. */
    | { kind: "leases"; ends: ReadonlyMap<string, bigint> }
    | Adaptive;

/** Adaptive limits: the time at which all tokens are back at the present rate, and the news since the last change of the rate. */
export interface Adaptive {
    kind: "adaptive";
    full: Fraction;
    /** In steps: see rateOf. */
    rate: bigint;
    since: bigint;
    /** Tokens granted since then. */
    used: bigint;
    /** Whether good calls were reported since then, and bad ones, and whether the rate fell then. */
    good: boolean;
    bad: boolean;
    fell: boolean;
    pausedUntil: bigint;
    /** The time of the last grant or report. */
    usedAt: bigint;
}

/** Tokens asked of one limit. */
export interface Ask { n: bigint; option?: string; maxWait?: bigint }

/** The outcome for one limit, in nanoseconds. The state is kept if the request is granted. */
export interface Decision {
    granted: bigint;
    remaining: bigint;
    /** Until a denied request would be granted, or until a granted one may go ahead; null is never. */
    wait: Fraction | null;
    reset: Fraction;
    state: State | undefined;
}

/** The tokens that an ask is for, where some are left. */
export function numberOf({ n, option }: Ask, left: bigint): bigint {
    const available = left < n ? left : n;
    return option === "UPTO" ? (available < 1n ? 1n : available) : n;
}
