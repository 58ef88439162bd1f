// What other services tell about their limits in the fields of responses.

/** The state of a limit of another service. */
export interface ProviderLimit {
    /** What it counts: "requests", "tokens", "input-tokens", "output-tokens", or the unit of a RateLimit-Policy. */
    unit: string;
    remaining: number;
    limit?: number;
    /** Milliseconds until the limit is full again, or its next window begins. */
    resetAfter?: number;
}

/** The fields of a response: of fetch, or of `node:http`. */
export type HeadersLike = Pick<Headers, "get"> | Readonly<Record<string, string | readonly string[] | undefined>>;

/** A response of another service, such as that of fetch. */
export interface Told { status: number; headers: HeadersLike }

type Get = (name: string) => string;

/**
 * What a set of fields without parameters counts, and the names of its fields, with a place for limit, remaining and
 * reset.
 */
const sets = [
    ["requests", "ratelimit-*"], ["requests", "x-ratelimit-*"], ["requests", "x-rate-limit-*"],
    ["requests", "x-ratelimit-*-requests"], ["tokens", "x-ratelimit-*-tokens"],
    ["requests", "anthropic-ratelimit-requests-*"], ["tokens", "anthropic-ratelimit-tokens-*"],
    ["input-tokens", "anthropic-ratelimit-input-tokens-*"], ["output-tokens", "anthropic-ratelimit-output-tokens-*"],
] as const;
const likeDraft = 3; // those that mean the same as RateLimit, and count only without it

/**
 * Reads RateLimit with RateLimit-Policy, the fields with the prefixes RateLimit-, X-RateLimit- and X-Rate-Limit-, and
 * those of OpenAI and Anthropic. A value that cannot be read is left out, and a limit without a remaining is none. Now
 * is a time in milliseconds since 1970.
 */
export function readLimits(headers: HeadersLike, now = Date.now()): ProviderLimit[] {
    const get = reader(headers), limits = readDraft(get, now);
    for (const [unit, name] of sets.slice(limits.length === 0 ? 0 : likeDraft)) {
        const part = (word: string): string => get(name.replace("*", word));
        limits.push(...limitOf(unit, part("remaining"), part("limit"), part("reset"), now));
    }
    return limits;
}

/**
 * The milliseconds for which a response asks for a pause: by Retry-After with a 429 or 503, or because nothing remains
 * of a limit.
 */
export function pauseOf({ status, headers }: Told, limits: readonly ProviderLimit[], now = Date.now()): number {
    const retryAfter = status === 429 || status === 503 ? parseRetryAfter(reader(headers)("retry-after"), now) : 0;
    return Math.max(retryAfter, ...limits.map(({ remaining, resetAfter }) => (remaining === 0 ? resetAfter ?? 0 : 0)));
}

/** The milliseconds of a Retry-After, which is a number of seconds or a date; 0 if it is neither. */
function parseRetryAfter(value: string, now: number): number {
    return /^\d+$/.test(value) ? Number(value.slice(0, 12)) * 1000 : untilDate(value, now) ?? 0;
}

function reader(headers: HeadersLike): Get {
    if (typeof headers.get === "function") {
        const all = headers as Pick<Headers, "get">;
        return (name) => (all.get(name) ?? "").trim();
    }
    const all = new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
    return (name) => String(all.get(name) ?? "").trim();
}

/** The limits of RateLimit (draft-ietf-httpapi-ratelimit-headers). */
function readDraft(get: Get, now: number): ProviderLimit[] {
    const policies = new Map(itemsOf(get("ratelimit-policy")));
    return itemsOf(get("ratelimit")).flatMap(([name, { r, t }]) => {
        const { q = "", qu = "requests" } = policies.get(name) ?? {};
        return limitOf(qu, r ?? "", q, t ?? "", now);
    });
}

/** The items of a list of structured fields, with their parameters. */
function itemsOf(list: string): [string, Record<string, string>][] {
    return split(list, ",").map((item) => {
        const [name = "", ...parameters] = split(item, ";").map((part) => part.trim());
        const pairs = parameters.map((parameter): [string, string] => {
            const equals = parameter.indexOf("=");
            return equals < 0 ? [parameter, ""] : [parameter.slice(0, equals), unquoted(parameter.slice(equals + 1))];
        });
        return [unquoted(name), Object.fromEntries(pairs)];
    });
}

/** Splits a list at a separator outside of quoted strings. */
function split(list: string, separator: string): string[] {
    const parts = [""];
    let isQuoted = false;
    for (let i = 0; i < list.length; i++) {
        const character = list.charAt(i);
        if (isQuoted && character === "\\") {
            parts.push(`${parts.pop() ?? ""}${character}${list.charAt(++i)}`);
        } else if (!isQuoted && character === separator) {
            parts.push("");
        } else {
            isQuoted = isQuoted !== (character === '"');
            parts.push(`${parts.pop() ?? ""}${character}`);
        }
    }
    return parts;
}

function unquoted(text: string): string {
    return text.startsWith('"') ? text.slice(1, -1).replace(/\\(.)/g, "$1") : text;
}

function limitOf(unit: string, remaining: string, limit: string, reset: string, now: number): ProviderLimit[] {
    const left = integer(remaining), most = integer(limit), resetAfter = readReset(reset, now);
    const known = { ...(most !== undefined && { limit: most }), ...(resetAfter !== undefined && { resetAfter }) };
    return left === undefined ? [] : [{ unit, remaining: left, ...known }];
}

function integer(text: string): number | undefined { return /^\d{1,15}$/.test(text) ? Number(text) : undefined; }

const unixTimes = 1e9; // a number above it is a time, of seconds since 1970, and not a duration
const durations: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** The milliseconds until a reset, which is seconds, a Unix time, a duration such as "6m0s", or a date. */
function readReset(text: string, now: number): number | undefined {
    if (/^\d{1,15}(\.\d{1,9})?$/.test(text)) {
        const seconds = Number(text);
        return Math.max(0, Math.ceil(seconds > unixTimes ? seconds * 1000 - now : seconds * 1000));
    }
    if (text.length <= 100 && /^(\d+(\.\d+)?(ms|[smhd]))+$/.test(text)) {
        const parts = [...text.matchAll(/(\d+(?:\.\d+)?)(ms|[smhd])/g)];
        const ms = parts.map(([, number, unit]) => Number(number) * (durations[unit ?? ""] ?? 0));
        return Math.ceil(ms.reduce((sum, part) => sum + part, 0));
    }
    return untilDate(text, now);
}

/** The milliseconds until a date of HTTP or of RFC 3339. */
function untilDate(text: string, now: number): number | undefined {
    const date = /^([A-Z][a-z]{2,8},? |\d{4}-\d\d-\d\d[Tt ])/.test(text) ? Date.parse(text) : NaN;
    return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}
