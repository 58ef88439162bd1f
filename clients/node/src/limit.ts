import { type Duration, milliseconds } from "./duration.js";
import { InvalidError } from "./errors.js";

/** The calendar's windows, in UTC; weeks begin on Monday. */
export type CalendarWindow = "@minute" | "@hour" | "@day" | "@week" | "@month";

const calendar: Record<CalendarWindow, number> = {
    "@minute": 60_000, "@hour": 3_600_000, "@day": 86_400_000, "@week": 7 * 86_400_000, "@month": 30 * 86_400_000,
};

/** The algorithms: their commands, and their words in RL.ALL. */
export const algorithms = {
    tokenBucket: { command: "TB.ACQUIRE", spec: "TB" },
    leakyQueue: { command: "LB.QUEUE", spec: "LQ" },
    gcra: { command: "CL.THROTTLE", spec: "CL" },
    fixedWindow: { command: "FW.ACQUIRE", spec: "FW" },
    slidingWindow: { command: "SW.ACQUIRE", spec: "SW" },
    slidingLog: { command: "SL.ACQUIRE", spec: "SL" },
} as const;

/** The name of an algorithm. */
export type Algorithm = keyof typeof algorithms;

const mostTokens = 1_000_000_000_000;

/** The number of tokens that may be taken, and the rate or window in which they come back. It never changes. */
export class Limit {
    private constructor(
        readonly algorithm: Algorithm,
        /** Capacity of a bucket, limit of a window, places of a queue. */
        readonly tokens: number,
        /** Tokens that come back in {@link period}. */
        readonly count: number,
        /** Milliseconds; 30 days for a calendar month. */
        readonly period: number,
        private readonly text: string,
    ) {
        for (const [name, n] of [["tokens", tokens], ["count", count]] as const) {
            if (!Number.isSafeInteger(n) || n < 1 || n > mostTokens) {
                throw new InvalidError(`${name}: must be an integer between 1 and ${mostTokens}, got ${n}`);
            }
        }
    }

    /** A token bucket that is refilled evenly with n tokens in every period. It holds n tokens, or those of {@link burst}. */
    static per(n: number, period: Duration): Limit {
        const ms = milliseconds(period, "period");
        return new Limit("tokenBucket", n, n, ms, `${n}/${ms}ms`);
    }

    /** A fixed window: n tokens in each {@link CalendarWindow} such as "@day", or in a duration that begins with the first grant. */
    static window(n: number, window: Duration): Limit {
        if (typeof window === "string" && window in calendar) {
            return new Limit("fixedWindow", n, n, calendar[window as CalendarWindow], window);
        }
        const ms = milliseconds(window, "window");
        return new Limit("fixedWindow", n, n, ms, `${ms}ms`);
    }

    /** A sliding window estimated from two counters: about n tokens in any span of this length. */
    static slidingWindow(n: number, length: Duration): Limit {
        const ms = milliseconds(length, "window");
        return new Limit("slidingWindow", n, n, ms, `${ms}ms`);
    }

    /** An exact sliding window: at most n tokens in any span of this length. */
    static slidingLog(n: number, length: Duration): Limit {
        const ms = milliseconds(length, "window");
        return new Limit("slidingLog", n, n, ms, `${ms}ms`);
    }

    /** The limit of CL.THROTTLE, for keys shared with programs for redis-cell: maxBurst + 1 tokens, count more in every whole seconds. */
    static gcra(maxBurst: number, count: number, seconds: number): Limit {
        if (!Number.isSafeInteger(seconds) || seconds < 1) {
            throw new InvalidError(`seconds: must be an integer above 0, got ${seconds}`);
        }
        return new Limit("gcra", maxBurst + 1, count, seconds * 1000, "");
    }

    /**
     * A token bucket from text, such as "100/minute", "10 per second", "5/500ms", "1000/day".
     * It throws {@link InvalidError} for anything else.
     */
    static parse(text: string): Limit {
        const found = /^\s*(\d+)\s*(?:\/|\s+per\s+|\s+an?\s+)\s*(.+?)\s*$/i.exec(text);
        if (!found?.[1] || !found[2]) {
            throw new InvalidError(`limit: must be a number and a period, such as "100/minute", "10 per second" or "5/500ms", got ${JSON.stringify(text)}`);
        }
        return Limit.per(Number(found[1]), found[2]);
    }

    /** The same rate with another capacity: the most tokens that can be taken at once. It is for token buckets. */
    burst(capacity: number): Limit {
        this.#onlyFor("tokenBucket", "burst");
        return new Limit("tokenBucket", capacity, this.count, this.period, this.text);
    }

    /** The rate as a queue: tokens go out one by one, evenly spaced, and at most this many requests wait. Use it with {@link Limiter.wait}. */
    queue(waiting: number): Limit {
        this.#onlyFor("tokenBucket", "queue");
        return new Limit("leakyQueue", waiting, this.count, this.period, this.text);
    }

    /** The largest number that can be taken at once. */
    get capacity(): number { return this.algorithm === "leakyQueue" ? this.tokens + 1 : this.tokens; }

    /** Milliseconds until all tokens are back. */
    get fillTime(): number {
        return this.algorithm === "fixedWindow" ? this.period : Math.ceil((this.capacity * this.period) / this.count);
    }

    /** The arguments behind the key in the limit's command, and in a spec of RL.ALL. */
    words(): (string | number)[] {
        return this.algorithm === "gcra" ? [this.tokens - 1, this.count, this.period / 1000] : [this.tokens, this.text];
    }

    #onlyFor(algorithm: Algorithm, method: string): void {
        if (this.algorithm !== algorithm) {
            throw new InvalidError(`${method}: is for token buckets, not for ${algorithms[this.algorithm].command}`);
        }
    }
}

/** A token bucket of n tokens a second, n at once. */
export const perSecond = (n: number): Limit => Limit.per(n, 1000);
/** A token bucket of n tokens a minute, n at once. */
export const perMinute = (n: number): Limit => Limit.per(n, 60_000);
/** A token bucket of n tokens an hour, n at once. */
export const perHour = (n: number): Limit => Limit.per(n, 3_600_000);
/** A token bucket of n tokens in 24 hours, n at once. */
export const perDay = (n: number): Limit => Limit.per(n, 86_400_000);

/** A limit, or its text: see {@link Limit.parse}. */
export type LimitLike = Limit | string;

/** The limit of a {@link LimitLike}. */
export function limitOf(limit: LimitLike): Limit {
    return typeof limit === "string" ? Limit.parse(limit) : limit;
}
