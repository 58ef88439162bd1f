import { type Row, algorithms } from "../algorithms.js";
import { mostTokens } from "../count.js";
import { InvalidError } from "../errors.js";
import { exactDuration, exactRate } from "../rates.js";
import { Fraction, divisor } from "./fraction.js";

/** A limit as its command has it. Times are in nanoseconds. */
export interface FakeLimit {
    row: Row;
    /** The most at once. */
    tokens: bigint;
    /** The time in which a token comes back. */
    interval: Fraction;
    /** The length of a window, or of a lease, or the time in which count and least of AD come back. */
    period: bigint;
    /** The tokens that come back in the period at the highest rate of AD, and at the lowest. */
    count: bigint;
    least: bigint;
    /** The window of FW, its zone and beginning, and the number of closed ones that are kept. */
    window: string;
    zone: string;
    from: string;
    history: number;
    /** The threshold in percent, 0 for none. */
    warn: bigint;
    /** The holder of a lease. */
    holder: string;
}

/** The number of words of a limit, by its form. */
const lengths: Record<Row["form"], number> = { rate: 2, window: 2, gcra: 3, leases: 3, member: 3, adaptive: 3 };

const rows: readonly Row[] = Object.values(algorithms).filter(({ form }) => form !== "member");

/** The row of a command. */
export const rowOf = (command: string): Row | undefined => rows.find((row) => row.command === command);

/** The row of a word of RL.ALL. */
export const rowOfSpec = (spec: string): Row | undefined => rows.find((row) => row.spec === spec);

/** The number of words of a limit behind its key. */
export const lengthOf = (row: Row): number => lengths[row.form];

/** Reads the words of a limit. */
export function read(row: Row, words: readonly string[]): FakeLimit {
    const [first = "", second = "", third = ""] = words, tokens = number(first, row.form === "gcra" ? 0n : 1n);
    if (words.length < lengthOf(row)) {
        throw new InvalidError(`wrong number of arguments for ${row.spec}`);
    }
    const limit: FakeLimit = { row, tokens, interval: Fraction.of(1n), period: 1n, count: 0n, least: 0n, window: "", zone: "UTC", from: "", history: 0, warn: 0n, holder: "" };
    switch (row.form) {
        case "rate": {
            const { count, period } = rateOf(second);
            return { ...limit, tokens: row.spec === "LQ" ? tokens + 1n : tokens, interval: Fraction.of(period, count) };
        }
        case "gcra": return { ...limit, tokens: tokens + 1n, interval: Fraction.of(number(third, 1n) * 1_000_000_000n, number(second, 1n)) };
        case "leases": return { ...limit, period: exactDuration(second), holder: third };
        case "adaptive": {
            const lowest = rateOf(second), highest = rateOf(third), common = divisor(lowest.period, highest.period);
            const byLowest = highest.period / common, byHighest = lowest.period / common; // the factors that make the periods equal
            return { ...limit, count: highest.count * byHighest, least: lowest.count * byLowest, period: highest.period * byHighest };
        }
        default: {
            const window = second.toLowerCase();
            return { ...limit, window, period: window in named ? named[window] ?? 0n : exactDuration(window.replace(/^@/, "")) };
        }
    }
}

/** The windows that have names, with their lengths if they have one. */
const named: Record<string, bigint | undefined> = {
    "@minute": 60_000_000_000n, "@hour": 3_600_000_000_000n, "@day": undefined, "@week": undefined, "@month": undefined, "@quarter": undefined, "@year": undefined,
};

/** Takes the options of a limit from the words behind it. */
export function takeOptions(limit: FakeLimit, words: string[]): FakeLimit {
    const taken = { ...limit };
    while (words.length > 1 && ["TZ", "FROM", "HISTORY", "WARN"].includes(words[0] ?? "")) {
        const [option, value = ""] = words.splice(0, 2);
        switch (option) {
            case "TZ": taken.zone = value; break;
            case "FROM": taken.from = value.toLowerCase(); break;
            case "HISTORY": taken.history = Number(number(value, 1n)); break;
            default: taken.warn = number(value.replace(/%$/, ""), 1n);
        }
    }
    return taken;
}

/** The field of a limit that warns. */
export function warning({ warn, tokens }: FakeLimit, remaining: bigint): number[] {
    return warn === 0n ? [] : [(tokens - remaining) * 100n >= tokens * warn ? 1 : 0];
}

/** A rate in integers: tokens, and the nanoseconds in which they come back. */
function rateOf(word: string): { count: bigint; period: bigint } {
    const { tokens: [n, parts], period: [time, timeParts] } = exactRate(word);
    return { count: n * timeParts, period: time * parts };
}

/** A number of tokens. */
export function number(word: string, least = 0n): bigint {
    if (!/^\d{1,13}$/.test(word) || BigInt(word) < least || BigInt(word) > mostTokens) {
        throw new InvalidError(`must be an integer between ${least} and ${mostTokens}, got '${word}'`);
    }
    return BigInt(word);
}
