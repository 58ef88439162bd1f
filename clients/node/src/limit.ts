import { type Algorithm, type Option, type Row, algorithms } from "./algorithms.js";
import { mustBeText, shown } from "./arguments.js";
import { count, mostTokens } from "./count.js";
import { InvalidError } from "./errors.js";
import { shortKey } from "./key.js";
import { type Duration, milliseconds, parseDuration, parseRate } from "./rates.js";

/** The calendar's windows, usually in UTC; weeks begin on Monday. */
export type CalendarWindow = "@minute" | "@hour" | "@day" | "@week" | "@month" | "@quarter" | "@year";

/**
 * Where windows of the calendar begin, from a day on: the time zone, such as "Europe/Berlin", and the beginning: "6" or "13:40" is the time of a day, "sunday" the
 * day of a week, "17" the day of a month, both also with a time, as in "17T06:00", and "04-06" the date of a year or of one of its quarters. A month without that day has it on its last.
 */
export interface Anchor { tz?: string; from?: string }

/**
 * The options of a fixed window: its {@link Anchor}; the number of closed windows, at most 36, that {@link Limiter.usage} shows; and the percentage of the limit
 * that may roll over from what the window before had left, for a window with "@". A request without the last two ends them.
 */
export interface WindowOptions extends Anchor { history?: number; rollover?: number }

/**
 * The option of a sliding window: with 2 to 120 segments, no window ever holds more than the limit, and tokens come back at most a segment late. A key is
 * limited with or without segments, and never by both.
 */
export interface SlidingOptions { segments?: number }

/** The option of a penalty: the ban of a caller who is soon banned again is twice as long each time, at most this long. */
export interface PenaltyOptions { doubling?: Duration }

const mostHistory = 36, mostSegments = 120;

const dayOfMonth = "0?[1-9]|[12]\\d";
const hourOfDay = "(0?\\d|1\\d|2[0-3])", minute = ":[0-5]\\d";
const date = `(0?[13578]|1[02])-(${dayOfMonth}|3[01])|(0?[469]|11)-(${dayOfMonth}|30)|0?2-(${dayOfMonth})`;

/** The beginnings of the windows that may have another. */
const beginnings: Record<string, string> = {
    "@day": `${hourOfDay}(${minute})?`, "@week": `(monday|tuesday|wednesday|thursday|friday|saturday|sunday)(T${hourOfDay}${minute})?`,
    "@month": `(0?[1-9]|[12]\\d|3[01])(T${hourOfDay}${minute})?`, "@quarter": date, "@year": date,
};

const calendar: Record<string, number> = {
    "@minute": 60_000, "@hour": 3_600_000, "@day": 86_400_000, "@week": 7 * 86_400_000, "@month": 30 * 86_400_000, "@quarter": 91 * 86_400_000, "@year": 365 * 86_400_000,
};

/** The largest weight of a member of a fair share. */
export const mostWeight = 1000;

interface Parts {
    /** The arguments behind the key, in the limit's command and in a spec of RL.ALL. */
    words: readonly (string | number | Buffer)[];
    /** The largest number that can be taken at once. */
    capacity: number;
    /** Tokens that come back in {@link period}. */
    count: number;
    /** Milliseconds; 30 days for a calendar month, 91 for a quarter, 365 for a year. */
    period: number;
    /** The weight of a member. */
    weight?: number;
    /** TZ, FROM, HISTORY and ROLLOVER, SEGMENTS or DOUBLING, with their values. */
    anchor?: readonly (string | number)[];
    /** Percent, see {@link Limit.warn}. */
    threshold?: number;
    /** See {@link Limit.spread}. */
    hasTurns?: boolean;
    /** Of an adaptive limit: the tokens that come back in a period at the lowest rate. */
    least?: number;
}

/** The number of tokens that may be taken, and the rate or window in which they come back. It never changes. */
export class Limit {
    private constructor(readonly algorithm: Algorithm, private readonly parts: Parts) {}

    /** A token bucket that is refilled evenly with n tokens in every period. It holds n tokens, or those of {@link burst}. */
    static per(n: number, period: Duration): Limit {
        const ms = milliseconds(period, "period");
        return Limit.#bucket("tokenBucket", n, `${count(n, "tokens")}/${ms}ms`, { count: n, period: ms });
    }

    /**
     * A fixed window: n tokens in each {@link CalendarWindow} such as "@day", in windows such as "@15m" that are counted from 1970, or in a
     * duration that begins with the first grant.
     */
    static window(n: number, window: Duration, options: WindowOptions = {}): Limit {
        if (Object.values(options).some((value) => value !== undefined)) {
            return Limit.window(n, window).#with(window, options);
        }
        if (typeof window === "string" && window.startsWith("@")) {
            return Limit.#window("fixedWindow", n, window, calendar[window.toLowerCase()] ?? parseDuration(window.slice(1)));
        }
        const ms = milliseconds(window, "window");
        return Limit.#window("fixedWindow", n, `${ms}ms`, ms);
    }

    /** A sliding window estimated from two counters: about n tokens in any span of this length. */
    static slidingWindow(n: number, length: Duration, { segments }: SlidingOptions = {}): Limit {
        const ms = milliseconds(length, "window"), limit = Limit.#window("slidingWindow", n, `${ms}ms`, ms);
        return segments === undefined ? limit : limit.#inSegments(segments);
    }

    /** An exact sliding window: at most n tokens in any span of this length. */
    static slidingLog(n: number, length: Duration): Limit {
        const ms = milliseconds(length, "window");
        return Limit.#window("slidingLog", n, `${ms}ms`, ms);
    }

    /** The limit of CL.THROTTLE, for keys shared with programs for redis-cell: maxBurst + 1 tokens, n more in every whole seconds. */
    static gcra(maxBurst: number, n: number, seconds: number): Limit {
        const words = [count(maxBurst, "maxBurst", 0), count(n, "count"), count(seconds, "seconds")];
        return new Limit("gcra", { words, capacity: count(maxBurst + 1, "maxBurst + 1"), count: n, period: seconds * 1000 });
    }

    /** At most n holders at a time. One that does not {@link Limiter.release} within ttl is dropped; the same holder again renews. */
    static concurrency(n: number, ttl: Duration, holder: string): Limit {
        const ms = milliseconds(ttl, "ttl");
        return Limit.#leases(n, `${ms}ms`, ms, holder);
    }

    /**
     * Credits that were bought: only {@link Limiter.addCredits} adds them, and a denial has `needsPayment`. Among several limits it is the last. While Stint is
     * down, {@link localShare} has no share of it, and denies.
     */
    static balance(): Limit { return new Limit("balance", { words: [], capacity: 0, count: 0, period: 1 }); }

    /**
     * A ban of callers who go on when they are denied: when the other limits of a call have denied so many requests within a window, it denies all of them
     * until the ban ends. It takes no tokens. It is for {@link Limiter.all}, and its key is the caller's. {@link localShare} bans nobody.
     */
    static penalty(denials: number, window: Duration, ban: Duration, { doubling }: PenaltyOptions = {}): Limit {
        const longest = doubling === undefined ? undefined : `${milliseconds(doubling, "doubling")}ms`;
        return Limit.#penalty(denials, `${milliseconds(window, "window")}ms`, `${milliseconds(ban, "ban")}ms`, longest);
    }

    /**
     * The limit of a text: a rate such as "100/minute" or "10 per second", or a limit of RL.ALL without its key, such as "TB 20 10/s",
     * "FW 1000 @day" or "SL 100 1m". A rate is a token bucket that holds the tokens of a period, at least one. It throws
     * {@link InvalidError} for text that the server would refuse.
     */
    static parse(text: string): Limit {
        if (typeof (text as unknown) !== "string") {
            throw noLimit(text);
        }
        const words = text.split(/\s+/).filter((word) => word !== "");
        const name = (Object.keys(algorithms) as Algorithm[]).find((each) => algorithms[each].spec === words[0]?.toUpperCase());
        if (name !== undefined) {
            return Limit.#spec(name, words, text);
        }
        const rate = parseRate(text);
        return Limit.#bucket("tokenBucket", Math.max(1, Math.floor(rate.count)), text, rate);
    }

    static #spec(name: Algorithm, words: string[], text: string): Limit {
        const { form, spec } = algorithms[name];
        if (words.at(-1)?.toUpperCase() === "SPREAD") {
            return Limit.#spec(name, words.slice(0, -1), text).spread();
        }
        if (words.length > 3 && words.at(-2)?.toUpperCase() === "WARN") {
            return Limit.#spec(name, words.slice(0, -2), text).warn(percentage("WARN", words.at(-1)));
        }
        if (name === "slidingWindow" && words.length === 5 && words[3]?.toUpperCase() === "SEGMENTS") {
            return Limit.#spec(name, words.slice(0, 3), text).#inSegments(integer(words[4] ?? ""));
        }
        if (form === "rate" && words.length === 5 && words[3]?.toLowerCase() === "per") {
            words = [...words.slice(0, 2), words.slice(2).join(" ")];
        }
        let weight = 1;
        if (form === "member" && words.length === 6 && words[4]?.toLowerCase() === "weight") {
            weight = integer(words[5] ?? "");
            words = words.slice(0, 4);
        }
        let anchor: WindowOptions | undefined;
        if (name === "fixedWindow" && words.length > 3) {
            [anchor, words] = [readAnchor(words.slice(3), text), words.slice(0, 3)];
        }
        if (form === "penalty" && words.length === 6 && words[4]?.toUpperCase() === "DOUBLING") {
            const [, denials = "", span = "", ban = "", , longest] = words;
            return Limit.#penalty(integer(denials), span, ban, longest);
        }
        const takes = form === "rate" || form === "window" ? 3 : form === "balance" ? 1 : 4;
        if (words.length !== takes) {
            throw new InvalidError(`${spec} takes ${takes - 1} words behind it, without the key, got ${JSON.stringify(text.slice(0, 100))}`);
        }
        const [, first = "", second = "", third = ""] = words, n = form === "balance" ? 0 : integer(first);
        switch (form) {
            case "rate": return Limit.#bucket(name, n, second, parseRate(second));
            case "balance": return Limit.balance();
            case "penalty": return Limit.#penalty(n, second, third);
            case "gcra": return Limit.gcra(n, integer(second), integer(third));
            case "leases": return Limit.#leases(n, second, parseDuration(second), third);
            case "member": return Limit.#bucket("tokenBucket", n, second, parseRate(second)).member(third, weight);
            case "adaptive": {
                const { count, period } = parseRate(second), most = Limit.#bucket("tokenBucket", n, third, parseRate(third));
                return most.#between(second, (count * most.parts.period) / period);
            }
            case "window": {
                const plain = name === "fixedWindow" && second.startsWith("@") ? Limit.window(n, second) : Limit.#window(name, n, second, parseDuration(second));
                return anchor === undefined ? plain : plain.#with(second, anchor);
            }
        }
    }

    static #bucket(algorithm: Algorithm, tokens: number, rate: string, refill: { count: number; period: number }): Limit {
        const capacity = count(tokens, "capacity") + (algorithm === "leakyQueue" ? 1 : 0);
        return new Limit(algorithm, { words: [tokens, rate], capacity, count: refill.count, period: refill.period });
    }

    /** The same window with options. */
    #with(window: Duration, { history, rollover, ...anchor }: WindowOptions): Limit {
        const words = anchor.tz === undefined && anchor.from === undefined ? [] : anchorWords(window, anchor);
        return new Limit(this.algorithm, { ...this.parts, anchor: [...words, ...historyWords(history), ...rolloverWords(window, rollover)] });
    }

    /** The same sliding window in segments. */
    #inSegments(segments: number): Limit {
        if (!Number.isInteger(segments) || segments < 2 || segments > mostSegments) {
            throw new InvalidError(`segments: must be an integer between 2 and ${mostSegments}, got ${shown(segments)}`);
        }
        return new Limit(this.algorithm, { ...this.parts, anchor: ["SEGMENTS", segments] });
    }

    static #window(algorithm: Algorithm, n: number, text: string, period: number): Limit {
        return new Limit(algorithm, { words: [count(n, "limit"), text], capacity: n, count: n, period });
    }

    static #leases(n: number, text: string, period: number, holder: string): Limit {
        mustBeText(holder, "holder");
        return new Limit("concurrency", { words: [count(n, "limit"), text, holder], capacity: n, count: n, period });
    }

    static #penalty(denials: number, window: string, ban: string, longest?: string): Limit {
        const words = [count(denials, "denials"), window, ban], period = parseDuration(window), shortest = parseDuration(ban);
        if (longest !== undefined && parseDuration(longest) < shortest) {
            throw new InvalidError(`doubling: must be no shorter than the ban, ${ban}, got ${longest}`);
        }
        return new Limit("penalty", { words, capacity: denials, count: denials, period, anchor: longest === undefined ? [] : ["DOUBLING", longest] });
    }

    /** The same rate with another capacity: the most tokens that can be taken at once. It is for token buckets. */
    burst(capacity: number): Limit {
        return Limit.#bucket(this.#onlyFor("burst").algorithm, capacity, this.#rate, this.parts);
    }

    /** The rate as a queue: tokens go out one by one, evenly spaced, and at most this many requests wait. Use it with {@link Limiter.wait}. */
    queue(waiting: number): Limit {
        const { parts } = this.#onlyFor("queue");
        return Limit.#bucket("leakyQueue", waiting, this.#rate, parts);
    }

    /**
     * The share of a member of a pool, whose tokens are those of this bucket, shared by weight. The key is that of the pool. Take the name
     * from authentication: each name counts as a member.
     */
    member(name: string | Uint8Array, weight = 1): Limit {
        const { words, threshold: _, hasTurns: __, ...parts } = this.#onlyFor("member").parts;
        const short = shortKey(name);
        if (name.length === 0) {
            throw new InvalidError("member: needs a name");
        }
        if (!Number.isSafeInteger(weight) || weight < 1 || weight > mostWeight) {
            throw new InvalidError(`weight: must be an integer between 1 and ${mostWeight}, got ${shown(weight)}`);
        }
        return new Limit("fairShare", { ...parts, words: [...words, short], weight });
    }

    /** A limit whose rate follows {@link Limiter.report}, from least tokens in the period of this bucket up to its rate. */
    adaptive(least: number): Limit {
        return this.#onlyFor("adaptive").#between(`${count(least, "least")}/${this.parts.period}ms`, least);
    }

    /**
     * The same limit with a threshold in percent: once that part of it is used, answers have `warn` set, and the server publishes one message
     * for each window and key. It is not for GCRA, fair shares and adaptive limits.
     */
    warn(percent: number): Limit {
        if (this.row.noWarn === true) {
            throw new InvalidError(`warn: is not for limits of ${this.row.command}, got ${this.toString()}`);
        }
        if (!Number.isSafeInteger(percent) || percent < 1 || percent > 100) {
            throw new InvalidError(`warn: must be an integer between 1 and 100, such as 80 for 80%, got ${shown(percent)}`);
        }
        return new Limit(this.algorithm, { ...this.parts, threshold: percent });
    }

    /**
     * The same limit with turns for denied callers, who then do not come back together: `retryAfter` is the time at which there are tokens for this caller, after
     * all who were denied before. It is for buckets, queues and fixed windows.
     */
    spread(): Limit {
        if (this.row.hasTurns !== true) {
            throw new InvalidError(`spread: is not for limits of ${this.row.command}, got ${this.toString()}`);
        }
        return new Limit(this.algorithm, { ...this.parts, hasTurns: true });
    }

    #between(rate: string, least: number): Limit {
        const { words: [capacity = 0], threshold: _, hasTurns: __, ...parts } = this.parts;
        if (least > parts.count) {
            throw new InvalidError(`least: must be at most the highest rate, ${this.#rate}, got ${rate}`);
        }
        return new Limit("adaptive", { ...parts, words: [capacity, rate, this.#rate], least });
    }

    /** The limit of which {@link localShare} takes a part: all members or holders together, the lowest rate of an adaptive limit. */
    get shared(): Limit {
        const { words, capacity, count, period, least = count } = this.parts;
        switch (this.algorithm) {
            case "fairShare": case "concurrency": return new Limit(this.algorithm, { words: words.slice(0, 2), capacity, count, period });
            case "adaptive": return new Limit(this.algorithm, { words, capacity, count: least, period });
            default: return this;
        }
    }

    /** The row of the table of algorithms. */
    get row(): Row { return algorithms[this.algorithm]; }

    /** The largest number that can be taken at once. */
    get capacity(): number { return this.parts.capacity; }

    /** Tokens that come back in {@link period}. */
    get count(): number { return this.parts.count; }

    /** Milliseconds; 30 days for a calendar month. */
    get period(): number { return this.parts.period; }

    /** Milliseconds until all tokens are back. */
    get fillTime(): number {
        const { capacity, count, period } = this.parts;
        return this.algorithm === "fixedWindow" ? period : capacity === 0 ? 0 : Math.ceil((capacity * period) / count);
    }

    /** The arguments behind the key in the limit's command, and in a spec of RL.ALL. */
    get words(): readonly (string | number | Buffer)[] { return this.parts.words; }

    /** The words behind the tokens of the limit's command, and behind its spec in RL.ALL. */
    get optionWords(): readonly (string | number)[] { return this.parts.hasTurns === true ? [...this.countedWords, "SPREAD"] : this.countedWords; }

    /** The option words of commands that deny nobody. */
    get countedWords(): readonly (string | number)[] {
        const { weight, anchor = [], threshold } = this.parts;
        if (weight !== undefined && weight !== 1) {
            return ["WEIGHT", weight];
        }
        return threshold === undefined ? anchor : [...anchor, "WARN", `${threshold}%`];
    }

    /** Whether {@link Limiter.atMost} can lower the limit. */
    get corrects(): boolean { return this.row.keeps === true && !this.countedWords.some((word) => word === "SEGMENTS" || word === "ROLLOVER"); }

    /** Whether the limit has a threshold: {@link warn}. */
    get warns(): boolean { return this.parts.threshold !== undefined; }

    /** The limit as RL.ALL takes it, without its key. */
    toString(): string { return [this.row.spec, ...this.words, ...this.optionWords].join(" "); }

    /** Throws {@link InvalidError} for an option that the algorithm's command does not take, and for a limit without a command. */
    mustTake(option: Option | undefined): void {
        if (this.algorithm === "penalty") {
            throw new InvalidError("PENALTY is one of several limits: use it in all, beside those whose denials it counts");
        }
        if (option !== undefined && !this.row.options.includes(option)) {
            throw new InvalidError(`${this.row.command} has no option ${option}, got it for ${this.toString()}`);
        }
    }

    get #rate(): string { return String(this.parts.words.at(-1)); }

    #onlyFor(method: string): this {
        if (this.row.form !== "rate" || (this.algorithm !== "tokenBucket" && method !== "burst")) {
            throw new InvalidError(`${method}: is for token buckets, not for ${this.row.command}`);
        }
        return this;
    }
}

function integer(word: string): number {
    if (!/^\d{1,13}$/.test(word)) {
        throw new InvalidError(`must be an integer between 0 and ${mostTokens}, got ${JSON.stringify(word.slice(0, 100))}`);
    }
    return Number(word);
}

function percentage(option: string, word = ""): number {
    const digits = /^(\d{1,3})%$/.exec(word)?.[1];
    if (digits === undefined) {
        throw new InvalidError(`${option}: must be a percentage such as 80%, got ${shown(word)}`);
    }
    return Number(digits);
}

/** A token bucket of n tokens a second, n at once. */
export const perSecond = (n: number): Limit => Limit.per(n, 1000);
/** A token bucket of n tokens a minute, n at once. */
export const perMinute = (n: number): Limit => Limit.per(n, 60_000);
/** A token bucket of n tokens an hour, n at once. */
export const perHour = (n: number): Limit => Limit.per(n, 3_600_000);
/** A token bucket of n tokens in 24 hours, n at once. */
export const perDay = (n: number): Limit => Limit.per(n, 86_400_000);

function noLimit(value: unknown): InvalidError {
    return new InvalidError(`limit: must be a Limit or text such as "100/minute", got ${shown(value)}`);
}

/** A limit, or its text: see {@link Limit.parse}. */
export type LimitLike = Limit | string;

const mostTexts = 1000;
const texts = new Map<string, Limit>();

/** The limit of a {@link LimitLike}. The first texts are remembered. */
export function limitOf(limit: LimitLike): Limit {
    if (typeof limit !== "string") {
        if ((limit as Partial<Limit> | null | undefined)?.row === undefined) { // not instanceof: a program may load both builds
            throw noLimit(limit);
        }
        return limit;
    }
    let parsed = texts.get(limit);
    if (parsed === undefined) {
        parsed = Limit.parse(limit);
        if (texts.size < mostTexts) {
            texts.set(limit, parsed);
        }
    }
    return parsed;
}

const zones = new Set<string>();

/** Whether this Node.js knows a time zone. It remembers those that it does, which are few: looking one up is slow. */
function isZone(tz: string): boolean {
    if (zones.has(tz)) {
        return true;
    }
    try {
        new Intl.DateTimeFormat("en", { timeZone: tz });
    } catch {
        return false;
    }
    if (zones.size < 1000) {
        zones.add(tz);
    }
    return true;
}

function anchorWords(window: Duration, { tz, from }: Anchor): string[] {
    const beginning = typeof window === "string" ? beginnings[window.toLowerCase()] : undefined;
    if (beginning === undefined) {
        throw new InvalidError(`tz and from: the window must be one of ${Object.keys(beginnings).join(" ")}, got ${shown(window)}`);
    }
    if (tz !== undefined && !isZone(tz)) {
        throw new InvalidError(`tz: must be a time zone that this Node.js knows, such as Europe/Berlin, got ${shown(tz)}`);
    }
    if (from !== undefined && !new RegExp(`^(${beginning})$`, "i").test(from)) {
        throw new InvalidError(`from: no beginning of ${window}, got ${shown(from)}`);
    }
    return [...tz === undefined ? [] : ["TZ", tz], ...from === undefined ? [] : ["FROM", from]];
}

function historyWords(history: number | undefined): (string | number)[] {
    if (history === undefined) {
        return [];
    }
    if (!Number.isInteger(history) || history < 1 || history > mostHistory) {
        throw new InvalidError(`history: must be an integer between 1 and ${mostHistory}, got ${shown(history)}`);
    }
    return ["HISTORY", history];
}

function rolloverWords(window: Duration, percent: number | undefined): string[] {
    if (percent === undefined) {
        return [];
    }
    if (!String(window).startsWith("@") || !Number.isInteger(percent) || percent < 1 || percent > 100) {
        throw new InvalidError(`rollover: must be a percentage between 1 and 100, for a window such as "@month", got ${shown(percent)}`);
    }
    return ["ROLLOVER", `${percent}%`];
}

/** Reads the words behind the window of a limit as text. */
function readAnchor(words: readonly string[], text: string): WindowOptions {
    const anchor: WindowOptions = {};
    for (let i = 0; i < words.length; i += 2) {
        const option = words[i]?.toLowerCase(), value = words[i + 1];
        if (option !== "tz" && option !== "from" && option !== "history" && option !== "rollover" || anchor[option] !== undefined || value === undefined) {
            throw new InvalidError(`FW takes a limit, a window, TZ with a zone, FROM with a beginning, HISTORY with a number and ROLLOVER, got ${JSON.stringify(text.slice(0, 100))}`);
        }
        if (option === "history") {
            anchor.history = integer(value);
        } else if (option === "rollover") {
            anchor.rollover = percentage("ROLLOVER", value);
        } else {
            anchor[option] = value;
        }
    }
    return anchor;
}
