import { type Ask, type Decision, type State, type Window, numberOf } from "./decision.js";
import { Fraction, zero } from "./fraction.js";
import { type FakeLimit, windowEnd } from "./limits.js";

/** Whether a window that is over may still roll over. */
export function isRemembered(limit: FakeLimit, state: State, now: bigint): boolean {
    const before = state.kind === "window" && limit.rollover > 0n ? windowAt(limit, state, now).before : undefined;
    return before !== undefined && now < windowEnd(limit, windowEnd(limit, before.end));
}

/** The window of a time, given the state of a key. */
export function windowAt(limit: FakeLimit, window: Window, now: bigint): Window {
    return window.end > now && window.taken !== 0n ? window : after(limit, window, windowEnd(limit, now));
}

/** The window with an end that follows another one. */
function after(limit: FakeLimit, window: Window, end: bigint): Window {
    if (window.taken === 0n || limit.rollover === 0n) {
        return { ...window, end, taken: 0n };
    }
    const left = limit.tokens + rolledOver(limit, window) - window.taken;
    return { kind: "window", end, taken: 0n, before: { end: window.end, left } };
}

/** The tokens that a window has beside its limit. After one window without usage they are the most that may roll over, and after two none. */
function rolledOver(limit: FakeLimit, { end, before }: Window): bigint {
    const { rollover } = limit;
    if (rollover === 0n || before === undefined) {
        return 0n;
    }
    const following = windowEnd(limit, before.end);
    if (following !== end) {
        return windowEnd(limit, following) === end ? rollover : 0n;
    }
    const left = before.left > 0n ? before.left : 0n;
    return left < rollover ? left : rollover;
}

export function fixed(limit: FakeLimit, state: State | undefined, now: bigint, ask: Ask): Decision {
    const window = windowAt(limit, state?.kind === "window" ? state : { kind: "window", end: 0n, taken: 0n }, now);
    const tokens = limit.tokens + rolledOver(limit, window), left = tokens - window.taken, n = numberOf(ask, left);
    if (ask.option !== "FORCE" && n > left) {
        const reset = Fraction.of(window.taken > 0n ? window.end - now : 0n);
        return { granted: 0n, limit: tokens, remaining: left, wait: waitFor(limit, window, now, n), reset, state };
    }
    const reset = Fraction.of(window.end - now);
    return { granted: n, limit: tokens, remaining: left - n, wait: zero, reset, state: { ...window, taken: window.taken + n } };
}

/** The time until n tokens fit the next window, or the one after it, to which more may roll over. */
function waitFor(limit: FakeLimit, window: Window, now: bigint, n: bigint): Fraction | null {
    for (let i = 0; i < 2; i++) {
        const begin = window.end;
        window = after(limit, window, windowEnd(limit, begin));
        if (n <= limit.tokens + rolledOver(limit, window)) {
            return Fraction.of(begin - now);
        }
    }
    return null;
}

export function segments({ tokens, period, segments: parts }: FakeLimit, state: State | undefined, now: bigint, ask: Ask): Decision {
    const width = (period + parts - 1n) / parts, present = now / width, held = state?.kind === "segments" ? [...state.counts] : [];
    const counts = new Map(held.filter(([number, n]) => n > 0n && number >= present - parts));
    let taken = sumOf(counts.values());
    const until = (most: bigint): Fraction => { // at most so many count
        let left = taken;
        for (const number of inOrder(counts)) {
            left -= counts.get(number) ?? 0n;
            if (left <= most) {
                return Fraction.of((number + parts + 1n) * width - now);
            }
        }
        return zero;
    };
    const left = tokens - taken, n = numberOf(ask, left);
    if (ask.option !== "FORCE" && n > left) {
        return { granted: 0n, limit: tokens, remaining: left, wait: n > tokens ? null : until(tokens - n), reset: until(0n), state };
    }
    counts.set(present, (counts.get(present) ?? 0n) + n);
    taken += n;
    return { granted: n, limit: tokens, remaining: left - n, wait: zero, reset: until(0n), state: { kind: "segments", counts } };
}

/** Segments without some tokens, those that were taken last. */
export function without(counts: ReadonlyMap<bigint, bigint>, tokens: bigint): ReadonlyMap<bigint, bigint> {
    const rest = new Map(counts);
    for (const number of inOrder(rest).reverse()) {
        const n = rest.get(number) ?? 0n, back = n < tokens ? n : tokens;
        rest.set(number, n - back);
        tokens -= back;
    }
    return rest;
}

function inOrder(counts: ReadonlyMap<bigint, bigint>): bigint[] { return [...counts.keys()].sort((a, b) => (a < b ? -1 : 1)); }

function sumOf(all: Iterable<bigint>): bigint { return [...all].reduce((sum, n) => sum + n, 0n); }
