import type { Fraction } from "./fraction.js";

/** The state of a limiter. Times are in nanoseconds since 1970. */
export type State =
    /** Token buckets: the time at which all tokens are back. */
    | { kind: "bucket"; full: Fraction }
    /** Fixed windows: the end of the present one, and the tokens taken in it. */
    | { kind: "window"; end: bigint; taken: bigint }
    /** Concurrency: the holders, and the ends of their leases. */
    | { kind: "leases"; ends: ReadonlyMap<string, bigint> };

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

/** The tokens that an ask is for, of a limit that has some left. */
export function numberOf({ n, option }: Ask, left: bigint): bigint {
    const available = left < n ? left : n;
    return option === "UPTO" ? (available < 1n ? 1n : available) : n;
}
