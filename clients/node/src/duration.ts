import { InvalidError } from "./errors.js";

/** A duration: a number of milliseconds, or text such as "500ms", "1.5s", "10 minutes", "1h", "7d". */
export type Duration = number | string;

const units: Record<string, number> = {
    ms: 1, millisecond: 1, milliseconds: 1,
    s: 1000, sec: 1000, secs: 1000, second: 1000, seconds: 1000,
    m: 60_000, min: 60_000, mins: 60_000, minute: 60_000, minutes: 60_000,
    h: 3_600_000, hr: 3_600_000, hour: 3_600_000, hours: 3_600_000,
    d: 86_400_000, day: 86_400_000, days: 86_400_000,
    w: 604_800_000, week: 604_800_000, weeks: 604_800_000,
};

const longest = 10 * 365 * 86_400_000; // ten years

/** Whole milliseconds of a duration, from 1 ms to 10 years. It throws {@link InvalidError} for anything else. */
export function milliseconds(d: Duration, name: string): number {
    const ms = typeof d === "number" ? d : parse(d);
    if (!Number.isSafeInteger(ms) || ms < 1 || ms > longest) {
        throw new InvalidError(`${name}: must be a whole number of milliseconds from 1 to 10 years, such as 500, "30s" or "10m", got ${JSON.stringify(d)}`);
    }
    return ms;
}

function parse(text: string): number {
    const found = /^\s*(\d+(?:\.\d+)?|\.\d+)?\s*([a-z]+)\s*$/i.exec(text);
    const unit = units[found?.[2]?.toLowerCase() ?? ""];
    if (!found || unit === undefined) {
        return NaN;
    }
    const ms = Number(found[1] ?? 1) * unit;
    return Math.abs(ms - Math.round(ms)) < 1e-6 ? Math.round(ms) : ms;
}
