import { InvalidError } from "../errors.js";
import type { FakeLimit } from "./limits.js";

/** A window that is over, in which something was taken. Times are in nanoseconds since 1970. */
export interface Past { start: bigint; end: bigint; taken: bigint; reserved: bigint }

/** A fixed window. Closed are those that are over, the newest first; reserved are the tokens taken by requests with an id that are not settled. */
export interface FixedWindow {
    kind: "window";
    start: bigint;
    end: bigint;
    taken: bigint;
    reserved: bigint;
    hasWarned: boolean;
    closed: readonly Past[];
}

const second = 1_000_000_000n, hour = 3600, day = 24 * hour; // nanoseconds, seconds
const weekdays = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];
/** The months of a window of the calendar. */
const months: Record<string, number> = { "@month": 1, "@quarter": 3, "@year": 12 };
/** The longest that a window of the calendar can be, in days. One has 25 hours. */
const longest: Record<string, number> = { "@day": 1, "@week": 7, "@month": 31, "@quarter": 92, "@year": 366 };

/** Whether windows are those of the clock or of the calendar. */
export const isAligned = ({ window }: FakeLimit): boolean => window.startsWith("@");

/** The window that holds a time, with the tokens taken in it. */
export function presentWindow(limit: FakeLimit, state: FixedWindow | undefined, now: bigint): FixedWindow {
    const [start, end] = span(limit, now), empty = { kind: "window", start, end, taken: 0n, reserved: 0n, hasWarned: false } as const;
    if (state === undefined) {
        return { ...empty, closed: [] };
    }
    const kept = (closed: readonly Past[]): readonly Past[] => closed.slice(0, limit.history);
    if (state.end <= now) {
        const { start, end, taken, reserved, closed } = state;
        return { ...empty, closed: kept(taken > 0n ? [{ start, end, taken, reserved }, ...closed] : closed) };
    }
    return { ...state, ...(state.taken > 0n || isKept(limit, state) ? {} : { start, end }), closed: kept(state.closed) };
}

/** Whether a state differs from that of a new key. */
export function counts(limit: FakeLimit, state: FixedWindow, now: bigint): boolean {
    if (now < state.end && (state.taken > 0n || isKept(limit, state))) {
        return true;
    }
    const last = state.taken > 0n ? state.end : state.closed[0]?.end ?? 0n, days = longest[limit.window];
    const length = days === undefined ? limit.period : BigInt(days * 25 * hour) * second;
    return limit.history > 0 && now < last + BigInt(limit.history) * length;
}

/** A window counts although all tokens went back if it is one of the clock that has warned. */
function isKept(limit: FakeLimit, { hasWarned }: FixedWindow): boolean { return hasWarned && isAligned(limit); }

/** The window that holds a time. One that begins with the first request begins then. */
function span(limit: FakeLimit, now: bigint): [bigint, bigint] {
    if (limit.window in longest) {
        return calendarSpan(limit, now);
    }
    const start = isAligned(limit) ? now - now % limit.period : now;
    return [start, start + limit.period];
}

/** Looks among the windows around a time for the one that holds it. */
function calendarSpan({ window, zone, from }: FakeLimit, now: bigint): [bigint, bigint] {
    const offsetAt = offsetsOf(zone), at = Number(now / second), wall = new Date((at + offsetAt(at)) * 1000);
    let start = 0n;
    for (let i = -2; ; i++) {
        const begin = BigInt(instant(offsetAt, beginning(window, from, wall, i))) * second;
        if (begin > now) {
            return [start, begin];
        }
        start = begin;
    }
}

/** The time of the clock at which the i-th window behind that of another begins. Times of the clock are as if in UTC, in seconds. */
function beginning(window: string, from: string, wall: Date, i: number): number {
    const at = from.includes(":") ? from.toLowerCase().lastIndexOf("t") : -1; // Tuesday has one too
    const [dayText, clock] = window === "@day" ? ["", from] : at < 0 ? [from, ""] : [from.slice(0, at), from.slice(at + 1)];
    const [hours = "", minutes = ""] = clock.split(":");
    return beginningDay(window, dayText, wall, i) + Number(hours) * hour + Number(minutes) * 60;
}

/** The midnight before a beginning. */
function beginningDay(window: string, from: string, wall: Date, i: number): number {
    const [year, month, date] = [wall.getUTCFullYear(), wall.getUTCMonth(), wall.getUTCDate()];
    if (window === "@day") {
        return Date.UTC(year, month, date + i) / 1000;
    }
    if (window === "@week") {
        const since = (wall.getUTCDay() - weekdays.indexOf(from === "" ? "monday" : from) + 7) % 7;
        return Date.UTC(year, month, date - since + 7 * i) / 1000;
    }
    const words = (from === "" ? "1" : from).split("-"), dayOfMonth = Number(words.pop()), first = Number(words.pop() ?? 1);
    const length = months[window] ?? 1, since = year * 12 + month + 1 - first, begin = since - since % length + length * i + first - 1;
    const last = new Date(Date.UTC(Math.floor((begin + 1) / 12), (begin + 1) % 12, 0)).getUTCDate();
    return Date.UTC(Math.floor(begin / 12), begin % 12, Math.min(dayOfMonth, last)) / 1000;
}

/** The first second at which the clocks of a zone show a time or a later one. */
function instant(offsetAt: Offsets, wall: number): number {
    let low = wall - day, high = wall + day;
    const before = offsetAt(low), after = offsetAt(high);
    if (before === after) {
        return wall - before;
    }
    while (high - low > 1) { // the clocks change at high
        const middle = Math.floor((low + high) / 2);
        [low, high] = offsetAt(middle) === before ? [middle, high] : [low, middle];
    }
    return wall - before < high ? wall - before : Math.max(high, wall - after); // the clocks may skip it
}

/** Seconds by which the clocks of a zone are ahead of UTC at a time. */
type Offsets = (at: number) => number;

const zones = new Map<string, Offsets>();

function offsetsOf(zone: string): Offsets {
    let offsets = zones.get(zone);
    if (offsets === undefined) {
        zones.set(zone, offsets = zone.toUpperCase() === "UTC" ? () => 0 : readZone(zone));
    }
    return offsets;
}

function readZone(timeZone: string): Offsets {
    let format: Intl.DateTimeFormat;
    try {
        const numeric = { year: "numeric", month: "numeric", day: "numeric", hour: "numeric", minute: "numeric", second: "numeric" } as const;
        format = new Intl.DateTimeFormat("en-US", { timeZone, hourCycle: "h23", ...numeric });
    } catch (cause) {
        throw new InvalidError(`TZ: the fake server knows no zone '${timeZone}'`, { cause });
    }
    return (at) => {
        const parts = Object.fromEntries(format.formatToParts(at * 1000).map(({ type, value }) => [type, Number(value)]));
        return Date.UTC(parts["year"] ?? 0, (parts["month"] ?? 1) - 1, parts["day"], parts["hour"], parts["minute"], parts["second"]) / 1000 - at;
    };
}
