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
    /** The window of FW. */
    window: string;
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
    const limit: FakeLimit = { row, tokens, interval: Fraction.of(1n), period: 1n, count: 0n, least: 0n, window: "", holder: "" };
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
        default: return { ...limit, window: second.toLowerCase(), period: second.toLowerCase() in calendar ? 1n : exactDuration(second.replace(/^@/, "")) };
    }
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

const day = 86_400_000_000_000n;

/** The ends of the windows of the calendar, in UTC. */
const calendar: Record<string, (now: bigint) => bigint> = {
    "@minute": (now) => next(now, 60_000_000_000n),
    "@hour": (now) => next(now, 3_600_000_000_000n),
    "@day": (now) => next(now, day),
    "@week": (now) => next(now - 4n * day, 7n * day) + 4n * day, // the fifth day was the first Monday
    "@month": (now) => {
        const date = new Date(Number(now / 1_000_000n));
        return BigInt(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1)) * 1_000_000n;
    },
    "@quarter": (now) => {
        const date = new Date(Number(now / 1_000_000n));
        return BigInt(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() - date.getUTCMonth() % 3 + 3)) * 1_000_000n;
    },
    "@year": (now) => BigInt(Date.UTC(new Date(Number(now / 1_000_000n)).getUTCFullYear() + 1, 0)) * 1_000_000n,
};

function next(now: bigint, period: bigint): bigint { return (now / period + 1n) * period; }

/** The end of the window that a request belongs to. */
export function windowEnd({ window, period }: FakeLimit, now: bigint): bigint {
    return calendar[window]?.(now) ?? (window.startsWith("@") ? next(now, period) : now + period);
}
