import { type Ask, type Decision, type State, numberOf } from "./decision.js";
import { Fraction, later, zero } from "./fraction.js";
import type { FakeLimit } from "./limits.js";
import { fixed, isRemembered, segments } from "./windows.js";

/** Decides on an ask. A new key has no state. */
export function decide(limit: FakeLimit, state: State | undefined, now: bigint, ask: Ask): Decision {
    switch (limit.row.spec) {
        case "TB": return bucket(limit, state, now, ask);
        case "CC": return leases(limit, state, now, ask);
        case "SW": return segments(limit, state, now, ask);
        case "BAL": return balance(state, ask);
        default: return fixed(limit, state, now, ask);
    }
}

/** The state of a limit of which nothing is asked: that of a denial. */
export function look(limit: FakeLimit, state: State | undefined, now: bigint): Decision {
    return decide(limit, state, now, { n: 10n ** 15n });
}

/** Whether a state is that of a new key. */
export function isFull(limit: FakeLimit, state: State, now: bigint): boolean {
    return state.kind !== "credits" && !isRemembered(limit, state, now) && look(limit, state, now).reset.sign === 0;
}

function bucket({ tokens, interval }: FakeLimit, state: State | undefined, at: bigint, ask: Ask): Decision {
    const now = Fraction.of(at), most = interval.times(tokens), full = state?.kind === "bucket" ? later(state.full, now) : now;
    const left = now.plus(most).minus(full).over(interval).floor(), n = numberOf(ask, left), after = full.plus(interval.times(n));
    const missing = after.minus(now).minus(most), ahead = Fraction.of(ask.maxWait ?? 0n), isForced = ask.option === "FORCE";
    if (!isForced && (n > tokens || missing.isAbove(ahead))) {
        return { granted: 0n, limit: tokens, remaining: left, wait: n > tokens ? null : missing.minus(ahead), reset: full.minus(now), state };
    }
    const remaining = now.plus(most).minus(after).over(interval).floor(), wait = isForced ? zero : later(missing, zero);
    return { granted: n, limit: tokens, remaining, wait, reset: after.minus(now), state: { kind: "bucket", full: after } };
}

function balance(state: State | undefined, ask: Ask): Decision {
    const { added, spent } = state?.kind === "credits" ? state : { added: 0n, spent: 0n }, left = added - spent, n = numberOf(ask, left);
    if (ask.option !== "FORCE" && n > left) {
        return { granted: 0n, limit: added, remaining: left, wait: null, reset: zero, state };
    }
    return { granted: n, limit: added, remaining: left - n, wait: zero, reset: zero, state: { kind: "credits", added, spent: spent + n } };
}

function leases({ tokens, period, holder }: FakeLimit, state: State | undefined, now: bigint, { n }: Ask): Decision {
    const ends = new Map(state?.kind === "leases" ? [...state.ends].filter(([, end]) => end > now) : []);
    const until = (times: Iterable<bigint>, isBetter: (a: bigint, b: bigint) => boolean): Fraction => {
        const best = [...times].reduce<bigint | undefined>((found, end) => (found === undefined || isBetter(end, found) ? end : found), undefined);
        return Fraction.of((best ?? now) - now);
    };
    if (n > 1n || (!ends.has(holder) && BigInt(ends.size) >= tokens)) {
        const wait = n > 1n ? null : until(ends.values(), (a, b) => a < b);
        return { granted: 0n, limit: tokens, remaining: tokens - BigInt(ends.size), wait, reset: until(ends.values(), (a, b) => a > b), state };
    }
    ends.set(holder, now + period);
    return { granted: 1n, limit: tokens, remaining: tokens - BigInt(ends.size), wait: zero, reset: until(ends.values(), (a, b) => a > b), state: { kind: "leases", ends } };
}
