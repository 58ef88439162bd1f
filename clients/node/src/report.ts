import type { Word } from "./driver.js";
import { shown } from "./arguments.js";
import { type Duration, milliseconds } from "./rates.js";
import { InvalidError } from "./errors.js";
import { shortKey } from "./key.js";
import { type Known, mustKnow } from "./options.js";
import type { Key } from "./request.js";
import { integers, unknownForm } from "./result.js";

/** The news of some calls of a backend. The server has a default for each field that is left out. */
export interface Report {
    /** Calls that went well, 0 by default. */
    good?: number;
    /** Calls that asked for a lower rate, 0 by default: 429, 503, an answer that came too late. */
    bad?: number;
    /** The time between two changes of the rate, 1s by default. */
    every?: Duration;
    /** The percentage of the rate that is left after bad calls, 80 by default. */
    down?: number;
    /** The percentage of the highest rate that is added after good calls alone, 5 by default. */
    up?: number;
    /** A time in which nothing is granted to anybody, such as a Retry-After. The longest wins. */
    pause?: Duration;
}

const reportOptions = { good: true, bad: true, every: true, down: true, up: true, pause: true } satisfies Known<Report>;

/** The state of an adaptive limit. */
export interface Pace {
    /** Its rate, in tokens a second. */
    perSecond: number;
    /** Milliseconds of its pause that are left. */
    pause: number;
}

/** An active member of a fair share. Taken are the tokens that the refill has not given back to it yet. */
export interface Member { name: string; weight: number; taken: number }

/** The command of a report. It throws {@link InvalidError} for one that the server refuses. */
export function reportWords(key: Key, report: Report): Word[] {
    mustKnow(report, reportOptions, "a report");
    const { good = 0, bad = 0, every, down, up, pause } = report;
    const words: Word[] = ["AD.REPORT", shortKey(key), calls(good, "good"), calls(bad, "bad")];
    if (every !== undefined) {
        words.push("EVERY", `${milliseconds(every, "every")}ms`);
    }
    if (down !== undefined) {
        words.push("DOWN", percent(down, "down", 99_999));
    }
    if (up !== undefined) {
        words.push("UP", percent(up, "up", 100_000));
    }
    if (pause !== undefined && pause !== 0) {
        words.push("PAUSE", `${milliseconds(pause, "pause")}ms`);
    }
    return words;
}

function calls(n: number, name: string): number {
    if (!Number.isSafeInteger(n) || n < 0) {
        throw new InvalidError(`${name}: must be an integer of at least 0, got ${shown(n)}`);
    }
    return n;
}

function percent(n: number, name: string, most: number): string {
    const thousandths = typeof (n as unknown) === "number" ? Math.round(n * 1000) : NaN;
    if (!(thousandths > 0 && thousandths <= most)) {
        throw new InvalidError(`${name}: must be a percentage above 0 and at most ${most / 1000}, got ${shown(n)}`);
    }
    return `${thousandths / 1000}%`;
}

/** Reads the reply of AD.REPORT. */
export function parsePace(reply: unknown): Pace | null {
    if (reply === null) {
        return null;
    }
    const perSecond = Array.isArray(reply) && reply.length === 2 ? Number(reply[0]) : NaN;
    if (!Array.isArray(reply) || !Number.isFinite(perSecond)) {
        throw unknownForm(reply);
    }
    return { perSecond, pause: integers(reply.slice(1), 1)[0] ?? 0 };
}

/** Reads the reply of FS.MEMBERS. */
export function parseMembers(reply: unknown): Member[] {
    if (!Array.isArray(reply)) {
        throw unknownForm(reply);
    }
    return reply.map((each: unknown) => {
        if (!Array.isArray(each) || each.length !== 3) {
            throw unknownForm(reply);
        }
        const [weight, taken] = integers(each.slice(1), 2) as [number, number];
        return { name: String(each[0]), weight, taken };
    });
}
