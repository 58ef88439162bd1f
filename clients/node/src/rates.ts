import { shown } from "./arguments.js";
import { mostTokens } from "./count.js";
import { InvalidError } from "./errors.js";

/** A duration: a number of milliseconds, or text such as "500ms", "1.5s", "10m", "1hour", "7d". */
export type Duration = number | string;

const longest = 10 * 365 * 86_400_000; // milliseconds
const mostCharacters = 1000;

// Units in nanoseconds, and their words, which may be in the plural.
const units: readonly (readonly [string, bigint, readonly string[]])[] = [
    ["ms", 1_000_000n, ["millisecond"]],
    ["s", 1_000_000_000n, ["sec", "second"]],
    ["m", 60_000_000_000n, ["min", "minute"]],
    ["h", 3_600_000_000_000n, ["hour"]],
    ["d", 86_400_000_000_000n, ["day"]],
];

/** Whole milliseconds of a duration, from 1 ms to 10 years. It throws {@link InvalidError} for anything else. */
export function milliseconds(d: Duration, name: string): number {
    const ms = typeof d === "number" ? d : typeof (d as unknown) === "string" && /[a-z]$/i.test(d) ? Number(nanoseconds(d) ?? NaN) / 1e6 : NaN;
    if (!Number.isSafeInteger(ms) || ms < 1 || ms > longest) {
        throw new InvalidError(`${name}: must be a whole number of milliseconds from 1 to 10 years, such as 500, "30s" or "10m", got ${quote(d)}`);
    }
    return ms;
}

/** Milliseconds of a duration as the server reads it: a bare number is seconds. It throws {@link InvalidError} for anything else. */
export function parseDuration(text: string): number { return Number(exactDuration(text)) / 1e6; }

/** Nanoseconds of a duration as the server reads it. It throws {@link InvalidError} for anything else. */
export function exactDuration(text: string): bigint {
    const ns = nanoseconds(text);
    if (ns === undefined) {
        throw new InvalidError(`a duration must be between 1ms and 10 years in whole nanoseconds, such as 250ms, 10s, 1.5m, 1h or 7d (a bare number is seconds), got ${quote(text)}`);
    }
    return ns;
}

function nanoseconds(text: string): bigint | undefined {
    const [count, suffix] = splitUnit(text), number = decimal(count), unit = unitOf(suffix);
    if (text.length > mostCharacters || !number || unit === undefined || (number.digits * unit) % number.scale !== 0n) {
        return undefined;
    }
    const ns = (number.digits * unit) / number.scale;
    return ns >= 1_000_000n && ns <= BigInt(longest) * 1_000_000n ? ns : undefined;
}

/** Reads a rate as the server does, "10", "10/s", "5/500ms", "10 per second": the tokens, and the period in milliseconds. */
export function parseRate(text: string): { count: number; period: number } {
    const { tokens, period } = exactRate(text);
    return { count: ratio(tokens), period: ratio(period) / 1e6 };
}

/** A quotient of integers. */
export type Quotient = readonly [numerator: bigint, denominator: bigint];

/** Reads a rate as {@link parseRate}: exactly, and the period in nanoseconds. */
export function exactRate(text: string): { tokens: Quotient; period: Quotient } {
    const [count = "", period = "s"] = text.includes("/") ? cut(text, text.indexOf("/"), 1) : cut(text, text.toLowerCase().indexOf(" per "), 5);
    const [times, suffix] = splitUnit(period), number = decimal(count), of = decimal(times === "" ? "1" : times), unit = unitOf(suffix);
    if (text.length > mostCharacters || period === "" || !number || !of || unit === undefined) {
        const names = units.map(([name, , words]) => `${name} (${words.join(", ")})`).join(", ");
        throw new InvalidError(`a rate must be such as 100, 0.035, 1000/60, 1000/m, 5/500ms or "10 per second"; units: ${names}; got ${quote(text)}`);
    }
    const ns = of.digits * unit, most = BigInt(longest) * 1_000_000n;
    if (number.digits === 0n || number.digits > BigInt(mostTokens) * number.scale || ns < 1_000_000n * of.scale || ns > most * of.scale ||
        ns * number.scale > number.digits * of.scale * most) {
        throw new InvalidError(`a rate must be above 0 and at most ${mostTokens} tokens, per 1ms to 10 years, and not below 1 token in 10 years, got ${quote(text)}`);
    }
    return { tokens: [number.digits, number.scale], period: [ns, of.scale] };
}

/** The parts before and behind a separator of so many characters; the text alone if it is not there. */
function cut(text: string, at: number, length: number): string[] {
    return at < 0 ? [text] : [text.slice(0, at), text.slice(at + length)];
}

/** A quotient as a number. Integers of hundreds of digits are none, so both are cut alike. */
function ratio([numerator, denominator]: Quotient): number {
    const unit = 10n ** BigInt(Math.max(0, String(numerator).length - 300, String(denominator).length - 300));
    return Number(numerator / unit) / Number(denominator / unit);
}

/** A number as programs print it, such as 1.5 or 1e-7, as digits / scale. */
function decimal(text: string): { digits: bigint; scale: bigint } | undefined {
    const [, whole, fraction = "", exponent = "0"] = /^(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i.exec(text) ?? [];
    if (whole === undefined) {
        return undefined;
    }
    const most = 2 * mostCharacters; // beyond it the number is beyond every bound
    const power = Math.max(-most, Math.min(most, Number(exponent))) - fraction.length;
    return { digits: BigInt(whole + fraction) * 10n ** BigInt(Math.max(0, power)), scale: 10n ** BigInt(Math.max(0, -power)) };
}

/** A number and the unit behind it, either of which may be missing. */
function splitUnit(text: string): [number: string, unit: string] {
    const number = /^(?:.*[\d.])?/s.exec(text)?.[0] ?? "";
    return [number, text.slice(number.length)];
}

function unitOf(suffix: string): bigint | undefined {
    const word = suffix.toLowerCase();
    return word === "" ? 1_000_000_000n : units.find(([name, , words]) => word === name || words.some((each) => word === each || word === `${each}s`))?.[1];
}

function quote(value: Duration): string { return typeof value === "string" ? JSON.stringify(value.slice(0, 100)) : shown(value); }
