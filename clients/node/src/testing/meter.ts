import { type Ask, type Decision, type State, numberOf } from "./decision.js";
import { Fraction, later, zero } from "./fraction.js";
import type { FakeLimit } from "./limits.js";

/** Decides for token buckets, queues and GCRA. */
export function meter({ row, tokens, interval }: FakeLimit, state: State | undefined, at: bigint, ask: Ask): Decision {
    const now = Fraction.of(at), most = interval.times(tokens);
    const full = state?.kind === "meter" ? later(state.full, now) : now;
    const left = now.plus(most).minus(full).over(interval).floor(), n = numberOf(ask, left);
    const after = full.plus(interval.times(n)), missing = after.minus(now).minus(most), ahead = Fraction.of(ask.maxWait ?? 0n);
    if (ask.option !== "FORCE" && (n > tokens || missing.isAbove(ahead))) {
        return { granted: 0n, remaining: left, wait: n > tokens ? null : missing.minus(ahead), reset: full.minus(now), state };
    }
    const wait = row.spec === "LQ" ? full.minus(now) : ask.option === "FORCE" ? zero : later(missing, zero);
    return { granted: n, remaining: now.plus(most).minus(after).over(interval).floor(), wait, reset: after.minus(now), state: { kind: "meter", full: after } };
}
