import { InvalidError } from "../errors.js";
import { exactDuration } from "../rates.js";
import type { Adaptive, Ask, Decision, State } from "./decision.js";
import { Fraction, later, zero } from "./fraction.js";
import type { FakeLimit } from "./limits.js";
import { meter } from "./meter.js";

const remembered = 600_000_000_000n; // nanoseconds for which an unused key keeps its rate
const staleAfter = 10n; // times EVERY: reports from before count no more
const echoPart = 10n; // of EVERY: bad calls do not count after the rate has fallen
const wholeRate = 100_000n; // thousandths of a percent
const mostReported = 1_000_000_000_000_000_000n;

/** A rate changes by a step: a thousandth of a token to the period, or more for rates of very many tokens and long periods. */
function stepsOf({ count, period }: FakeLimit): bigint {
    return least(1000n, 1_000_000_000_000n / count, 315_360_000_000_000_000n / period) || 1n;
}

function least(...numbers: bigint[]): bigint { return numbers.reduce((a, b) => (b < a ? b : a)); }

function most(a: bigint, b: bigint): bigint { return b > a ? b : a; }

/** The limit at a rate, as a bucket. */
function at(limit: FakeLimit, rate: bigint): FakeLimit {
    return { ...limit, interval: Fraction.of(limit.period * stepsOf(limit), rate) };
}

function clamped(limit: FakeLimit, rate: bigint): bigint {
    const steps = stepsOf(limit);
    return least(most(most(rate, limit.least * steps), 1n), limit.count * steps);
}

/** The tokens taken under one rate, under another. */
function carried(full: Fraction, at: bigint, before: FakeLimit, after: FakeLimit): Fraction {
    const now = Fraction.of(at);
    return now.plus(later(full.minus(now), zero).over(before.interval).times(after.interval));
}

/** A state under another limit: taken tokens and the rate carry over. */
export function under(limit: FakeLimit, state: Adaptive, before: FakeLimit, now: bigint): Adaptive {
    const isSame = limit.count === before.count && limit.least === before.least && limit.period === before.period;
    const rate = isSame ? state.rate : clamped(limit, (state.rate * limit.period * stepsOf(limit)) / (before.period * stepsOf(before)));
    return { ...state, rate, full: carried(state.full, now, at(before, state.rate), at(limit, rate)) };
}

/** Whether a key keeps its rate although all tokens are back. */
export function isRemembered({ usedAt, pausedUntil }: Adaptive, now: bigint): boolean { return now - usedAt < remembered || pausedUntil > now; }

/** Decides for adaptive limits. */
export function adaptive(limit: FakeLimit, state: State | undefined, now: bigint, ask: Ask): Decision {
    const known: Adaptive = state?.kind === "adaptive" ? state : {
        kind: "adaptive", full: Fraction.of(now), rate: limit.count * stepsOf(limit), since: now, used: 0n, good: false, bad: false, fell: false, pausedUntil: 0n, usedAt: now,
    };
    const bucket = at(limit, known.rate), full: State = { kind: "meter", full: known.full }, decision = meter(bucket, full, now, ask);
    if (known.pausedUntil > now) {
        const pause = Fraction.of(known.pausedUntil - now);
        if (decision.granted > 0n) {
            return { ...meter(bucket, full, now, { n: limit.tokens + 1n }), wait: pause, state };
        }
        return { ...decision, wait: decision.wait && later(decision.wait, pause), state };
    }
    if (decision.granted === 0n || decision.state?.kind !== "meter") {
        return { ...decision, state };
    }
    return { ...decision, state: { ...known, full: decision.state.full, used: known.used + decision.granted, usedAt: now } };
}

/** A state after tokens were given back. */
export function givenBack(limit: FakeLimit, state: Adaptive, tokens: bigint): Adaptive {
    return { ...state, full: state.full.minus(at(limit, state.rate).interval.times(tokens)) };
}

/** A report, from the words behind its key. Percentages are in thousandths. */
export interface FakeReport { good: boolean; bad: boolean; every: bigint; pause: bigint; down: bigint; up: bigint }

/** Reads the words of a report. */
export function readReport([good = "", bad = "", ...options]: readonly string[]): FakeReport {
    const report: FakeReport = { good: calls(good), bad: calls(bad), every: 1_000_000_000n, pause: 0n, down: 80_000n, up: 5000n };
    while (options.length > 0) {
        const [name = "", value = ""] = options.splice(0, 2);
        switch (name) {
            case "EVERY": report.every = exactDuration(value); break;
            case "PAUSE": report.pause = exactDuration(value); break;
            case "DOWN": report.down = thousandths(value); break;
            case "UP": report.up = thousandths(value); break;
            default: throw new InvalidError(`the fake server has no ${name} in AD.REPORT`);
        }
    }
    return report;
}

function calls(word: string): boolean {
    if (!/^\d{1,19}$/.test(word) || BigInt(word) > mostReported) {
        throw new InvalidError(`must be an integer between 0 and ${mostReported}, got '${word}'`);
    }
    return BigInt(word) > 0n;
}

/** Thousandths of a percent. */
export function thousandths(word: string): bigint {
    const [, whole, decimals = ""] = /^(\d{1,3})(?:\.(\d{1,3}))?%$/.exec(word) ?? [];
    if (whole === undefined) {
        throw new InvalidError(`must be a percentage such as 12.5%, got '${word}'`);
    }
    return BigInt(whole + decimals.padEnd(3, "0"));
}

/** A state after a report. */
export function heard(limit: FakeLimit, state: Adaptive, report: FakeReport, now: bigint): Adaptive {
    const { every, pause, down, up } = report, elapsed = now - state.since, isStale = elapsed / staleAfter >= every;
    const isEcho = state.fell && elapsed < every / echoPart;
    const good = (state.good && !isStale) || report.good, bad = (state.bad && !isStale) || (report.bad && !isEcho);
    const after = { ...state, good, bad, pausedUntil: most(state.pausedUntil, now + pause), usedAt: now };
    if (elapsed < every || (!good && !bad)) {
        return after;
    }
    let { rate } = state;
    if (bad) {
        rate = (rate * down) / wholeRate;
    } else if (!Fraction.of(elapsed).over(at(limit, rate).interval).isAbove(Fraction.of(2n * state.used))) { // at least half of it was used
        rate += most(1n, (limit.count * stepsOf(limit) * up) / wholeRate);
    }
    rate = clamped(limit, rate);
    return { ...after, rate, full: carried(state.full, now, at(limit, state.rate), at(limit, rate)), since: now, used: 0n, fell: bad, good: false, bad: false };
}

/** The present rate in tokens a second: rounded down to nine decimals, without zeros at the end. */
export function perSecond(limit: FakeLimit, state: Adaptive): string {
    const billionths = Fraction.of(1_000_000_000_000_000_000n).over(at(limit, state.rate).interval).floor(), digits = billionths.toString().padStart(10, "0");
    return `${digits.slice(0, -9)}.${digits.slice(-9)}`.replace(/\.?0+$/, "");
}
