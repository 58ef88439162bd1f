import { type Row, algorithms } from "../algorithms.js";
import { mostTokens } from "../count.js";
import { InvalidError, ofReply } from "../errors.js";
import { exactDuration, exactRate } from "../rates.js";
import { Fraction } from "./fraction.js";

/** A limit as its command has it. Times are in nanoseconds. */
export interface FakeLimit {
    row: Row;
    /** The most at once. */
    tokens: bigint;
    /** The time in which a token of a bucket comes back. */
    interval: Fraction;
    /** The length of a window, or of a lease. It is 0 for a window of the calendar without a fixed length. */
    period: bigint;
    /** The window of FW. */
    window: string;
    /** The tokens of FW of which at most may roll over to the next window. */
    rollover: bigint;
    /** The segments of SW. */
    segments: bigint;
    /** The holder of a lease. */
    holder: string;
}

/** The error of what only the server has. */
export const lacks = (what: string): Error => ofReply(
    `ERR the fake server has no ${what}: it knows token buckets, fixed windows without other options than ROLLOVER, sliding windows in SEGMENTS, `
    + "concurrency limits, balances without EXPIRE, and policies of them; run this test on a real server, with startServer");

const rows: readonly Row[] = Object.values(algorithms).filter(({ spec }) => ["TB", "FW", "SW", "CC", "BAL"].includes(spec));

/** The row of a command. */
export const rowOf = (command: string): Row | undefined => rows.find((row) => row.command === command);

/** The row of a word of RL.ALL. */
export const rowOfSpec = (spec: string): Row | undefined => rows.find((row) => row.spec === spec);

/** The number of words of a limit after its key. */
export const lengthOf = (row: Row): number => row.form === "leases" ? 3 : row.form === "balance" ? 0 : 2;

/** Reads the words of a limit, and takes its option off the words behind them. */
export function read(row: Row, words: readonly string[], behind: string[]): FakeLimit {
    const limit = readPlain(row, words), [option, value = ""] = behind;
    if (row.spec === "FW" && option === "ROLLOVER") {
        behind.splice(0, 2);
        return { ...limit, rollover: limit.tokens * number(value.replace(/%$/, ""), 1n) / 100n };
    }
    if (row.spec !== "SW") {
        return limit;
    }
    if (option !== "SEGMENTS") {
        throw lacks("SW without SEGMENTS");
    }
    behind.splice(0, 2);
    return { ...limit, segments: number(value, 2n) };
}

function readPlain(row: Row, words: readonly string[]): FakeLimit {
    const [first = "", second = "", third = ""] = words, tokens = row.form === "balance" ? 0n : number(first, 1n);
    if (words.length < lengthOf(row)) {
        throw new InvalidError(`wrong number of arguments for ${row.spec}`);
    }
    const limit: FakeLimit = { row, tokens, interval: Fraction.of(1n), period: 0n, window: "", rollover: 0n, segments: 0n, holder: "" };
    switch (row.form) {
        case "rate": return { ...limit, interval: intervalOf(second) };
        case "balance": return limit;
        case "leases": return { ...limit, period: exactDuration(second), holder: third };
        default: {
            const window = second.toLowerCase();
            return { ...limit, window, period: named[window] ?? exactDuration(window.replace(/^@/, "")) };
        }
    }
}

/** The windows that have names, with their lengths in nanoseconds, or 0. */
const named: Record<string, bigint | undefined> = {
    "@minute": 60_000_000_000n, "@hour": 3_600_000_000_000n, "@day": 86_400_000_000_000n,
    "@week": 0n, "@month": 0n, "@quarter": 0n, "@year": 0n,
};

/** The months of a window of the calendar. */
const months: Record<string, number> = { "@month": 1, "@quarter": 3, "@year": 12 };

/** The end of the window that holds a time. A window without @ begins with its first request. */
export function windowEnd({ window, period }: FakeLimit, now: bigint): bigint {
    if (period > 0n) {
        return window.startsWith("@") ? now - now % period + period : now + period;
    }
    const at = new Date(Number(now / 1_000_000n)), [year, month] = [at.getUTCFullYear(), at.getUTCMonth()];
    const length = months[window], daysLeft = 7 - (at.getUTCDay() + 6) % 7; // of a week, which ends on a Monday
    const end = length === undefined ? Date.UTC(year, month, at.getUTCDate() + daysLeft) : Date.UTC(year, month - month % length + length);
    return BigInt(end) * 1_000_000n;
}

/** The nanoseconds in which a token comes back. */
function intervalOf(word: string): Fraction {
    const { tokens: [n, parts], period: [time, timeParts] } = exactRate(word);
    return Fraction.of(time * parts, n * timeParts);
}

/** A number of tokens. */
export function number(word: string, least = 0n): bigint {
    if (!/^\d{1,13}$/.test(word) || BigInt(word) < least || BigInt(word) > mostTokens) {
        throw new InvalidError(`must be an integer between ${least} and ${mostTokens}, got '${word}'`);
    }
    return BigInt(word);
}
