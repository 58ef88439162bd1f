import { adaptive, isRemembered } from "./adaptive.js";
import { type Ask, type Decision, type State, numberOf } from "./decision.js";
import { Fraction, zero } from "./fraction.js";
import { type FakeLimit, warning } from "./limits.js";
import { meter } from "./meter.js";
import { counts, presentWindow } from "./windows.js";

/** Decides on an ask. A new key has no state. */
export function decide(limit: FakeLimit, state: State | undefined, now: bigint, ask: Ask): Decision {
    switch (limit.row.spec) {
        case "AD": return adaptive(limit, state, now, ask);
        case "CC": return leases(limit, state, now, ask);
        case "FW": return fixed(limit, state, now, ask);
        case "SW": return sliding(limit, state, now, ask);
        case "SL": return log(limit, state, now, ask);
        default: return meter(limit, state, now, ask);
    }
}

/** The state of a limit of which nothing is asked: that of a denial. */
export function look(limit: FakeLimit, state: State | undefined, now: bigint): Decision {
    return decide(limit, state, now, { n: limit.tokens + 1n });
}

function fixed(limit: FakeLimit, state: State | undefined, now: bigint, ask: Ask): Decision {
    const present = presentWindow(limit, state?.kind === "window" ? state : undefined, now), n = numberOf(ask, limit.tokens - present.taken);
    if (ask.option !== "FORCE" && present.taken + n > limit.tokens) {
        const reset = Fraction.of(present.taken > 0n ? present.end - now : 0n);
        return { granted: 0n, remaining: limit.tokens - present.taken, wait: n > limit.tokens ? null : reset, reset, state };
    }
    const taken = present.taken + n, hasWarned = present.hasWarned || warning(limit, limit.tokens - taken)[0] === 1;
    return { granted: n, remaining: limit.tokens - taken, wait: zero, reset: Fraction.of(present.end - now), state: { ...present, taken, hasWarned } };
}

function log({ tokens, period }: FakeLimit, state: State | undefined, now: bigint, ask: Ask): Decision {
    const grants = state?.kind === "log" ? state.grants.filter(({ at }) => at > now - period) : [];
    const taken = grants.reduce((sum, grant) => sum + grant.tokens, 0n), n = numberOf(ask, tokens - taken), last = grants.at(-1);
    if (ask.option === "FORCE" || taken + n <= tokens) {
        const isSame = last?.at === now, present = { at: now, tokens: isSame ? last.tokens + n : n };
        const after: State = { kind: "log", grants: [...(isSame ? grants.slice(0, -1) : grants), present] };
        return { granted: n, remaining: tokens - taken - n, wait: zero, reset: Fraction.of(period), state: after };
    }
    let wait = 0n, excess = taken + n - tokens;
    for (const grant of grants) {
        if (excess > 0n) {
            wait = grant.at + period - now;
            excess -= grant.tokens;
        }
    }
    const reset = Fraction.of(last ? last.at + period - now : 0n);
    return { granted: 0n, remaining: tokens - taken, wait: n > tokens ? null : Fraction.of(wait), reset, state };
}

function sliding({ tokens, period }: FakeLimit, state: State | undefined, now: bigint, ask: Ask): Decision {
    const number = now / period, elapsed = now % period, known = state?.kind === "counters" ? state : undefined;
    const isSame = known?.number === number;
    const current = isSame ? known.current : 0n, before = isSame ? known.before : known?.number === number - 1n ? known.current : 0n;
    const left = Fraction.of(tokens - current).minus(Fraction.of((period - elapsed) * before, period)).floor(), n = numberOf(ask, left);
    if (ask.option === "FORCE" || n <= left) {
        const after: State = { kind: "counters", number, current: current + n, before };
        return { granted: n, remaining: left - n, wait: zero, reset: Fraction.of(2n * period - elapsed), state: after };
    }
    const reset = Fraction.of(current > 0n ? 2n * period - elapsed : before > 0n ? period - elapsed : 0n);
    let wait: Fraction | null = null;
    if (n <= tokens) {
        wait = current + n <= tokens
            ? Fraction.of(period - elapsed).minus(Fraction.of((tokens - current - n) * period, before)) // when enough of the window before has gone
            : Fraction.of(2n * period - elapsed).minus(Fraction.of((tokens - n) * period, current)); // in the next window, when enough of this one has
    }
    return { granted: 0n, remaining: left, wait, reset, state };
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

/** Whether a state equals that of a new key. */
export function isFull(limit: FakeLimit, state: State, now: bigint): boolean {
    if (state.kind === "window") {
        return !counts(limit, state, now);
    }
    return !(state.kind === "adaptive" && isRemembered(state, now)) && look(limit, state, now).reset.sign === 0;
}
