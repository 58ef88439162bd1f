import { type Ask, type Decision, type State, numberOf } from "./decision.js";
import { Fraction, later, zero } from "./fraction.js";
import { type FakeLimit, windowEnd } from "./limits.js";

/** Decides on an ask. A new key has no state. */
export function decide(limit: FakeLimit, state: State | undefined, now: bigint, ask: Ask): Decision {
    switch (limit.row.form) {
        case "rate": return bucket(limit, state, now, ask);
        case "leases": return leases(limit, state, now, ask);
        default: return fixed(limit, state, now, ask);
    }
}

/** The state of a limit of which nothing is asked: that of a denial. */
export function look(limit: FakeLimit, state: State | undefined, now: bigint): Decision {
    return decide(limit, state, now, { n: limit.tokens + 1n });
}

function bucket({ tokens, interval }: FakeLimit, state: State | undefined, at: bigint, ask: Ask): Decision {
    const now = Fraction.of(at), most = interval.times(tokens), full = state?.kind === "bucket" ? later(state.full, now) : now;
    const left = now.plus(most).minus(full).over(interval).floor(), n = numberOf(ask, left), after = full.plus(interval.times(n));
    const missing = after.minus(now).minus(most), ahead = Fraction.of(ask.maxWait ?? 0n), isForced = ask.option === "FORCE";
    if (!isForced && (n > tokens || missing.isAbove(ahead))) {
        return { granted: 0n, remaining: left, wait: n > tokens ? null : missing.minus(ahead), reset: full.minus(now), state };
    }
    const remaining = now.plus(most).minus(after).over(interval).floor(), wait = isForced ? zero : later(missing, zero);
    return { granted: n, remaining, wait, reset: after.minus(now), state: { kind: "bucket", full: after } };
}

function fixed(limit: FakeLimit, state: State | undefined, now: bigint, ask: Ask): Decision {
    const present = state?.kind === "window" && state.end > now && state.taken > 0n ? state : undefined, taken = present?.taken ?? 0n;
    const left = limit.tokens - taken, n = numberOf(ask, left);
    if (ask.option !== "FORCE" && n > left) {
        const reset = Fraction.of(present ? present.end - now : 0n);
        return { granted: 0n, remaining: left, wait: n > limit.tokens ? null : reset, reset, state };
    }
    const end = present?.end ?? windowEnd(limit, now), reset = Fraction.of(end - now);
    return { granted: n, remaining: left - n, wait: zero, reset, state: { kind: "window", end, taken: taken + n } };
}

function leases({ tokens, period, holder }: FakeLimit, state: State | undefined, now: bigint, { n }: Ask): Decision {
    const ends = new Map(state?.kind === "leases" ? [...state.ends].filter(([, end]) => end > now) : []);
    const until = (times: Iterable<bigint>, isBetter: (a: bigint, b: bigint) => boolean): Fraction => {
        const best = [...times].reduce<bigint | undefined>((found, end) => (found === undefined || isBetter(end, found) ? end : found), undefined);
        return Fraction.of((best ?? now) - now);
    };
    if (n > 1n || (!ends.has(holder) && BigInt(ends.size) >= tokens)) {
        const wait = n > 1n ? null : until(ends.values(), (a, b) => a < b);
        return { granted: 0n, remaining: tokens - BigInt(ends.size), wait, reset: until(ends.values(), (a, b) => a > b), state };
    }
    ends.set(holder, now + period);
    return { granted: 1n, remaining: tokens - BigInt(ends.size), wait: zero, reset: until(ends.values(), (a, b) => a > b), state: { kind: "leases", ends } };
}
