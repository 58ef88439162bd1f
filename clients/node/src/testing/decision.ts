import type { Fraction } from "./fraction.js";

/** The state of a fixed window: its end, the tokens taken in it, and the end and the rest of the last window before it with usage. */
export interface Window { kind: "window"; end: bigint; taken: bigint; before?: { end: bigint; left: bigint } | undefined }

/** The state of a limiter. Times are in nanoseconds since 1970. */
export type State =
    /** Token buckets: the time at which all tokens are back. */
    | { kind: "bucket"; full: Fraction }
    | Window
    /** Sliding windows in segments: the tokens taken in each, by its number since 1970. */
    | { kind: "segments"; counts: ReadonlyMap<bigint, bigint> }
    /** Balances. */
    | { kind: "credits"; added: bigint; spent: bigint }
    /** Concurrency: the holders, and the ends of their leases. */
    | { kind: "leases"; ends: ReadonlyMap<string, bigint> };

/** Tokens asked of one limit. */
export interface Ask { n: bigint; option?: string; maxWait?: bigint }

/** The outcome for one limit, in nanoseconds. The state is kept if the request is granted. */
export interface Decision {
    granted: bigint;
    limit: bigint;
    remaining: bigint;
    /** Until a denied request would be granted, or until a granted one may go ahead; null is never. */
    wait: Fraction | null;
    reset: Fraction;
    state: State | undefined;
}

/** The tokens that an ask is for, of a limit that has some left. */
export function numberOf({ n, option }: Ask, left: bigint): bigint {
    const available = left < n ? left : n;
    return option === "UPTO" ? (available < 1n ? 1n : available) : n;
}
