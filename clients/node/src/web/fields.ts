import { shown } from "../arguments.js";
import { InvalidError } from "../errors.js";
import { bytesOf } from "../key.js";
import type { Limit } from "../limit.js";
import { type Result, never } from "../result.js";

/** Rounds milliseconds up to seconds, so that a client that waits so long is not too early. */
export const wholeSeconds = (ms: number): number => Math.max(0, Math.ceil(ms / 1000));

/** A string of structured fields. Bytes that are not allowed in one are written as in URLs, and so is %. */
function quote(name: string): string {
    const bytes = Array.from(bytesOf(name), (b) => (b < 32 || b > 126 || b === 37 ? `%${b.toString(16).toUpperCase().padStart(2, "0")}` : String.fromCharCode(b)));
    return `"${bytes.join("").replace(/["\\]/g, "\\$&")}"`;
}

/** The milliseconds until another token comes back; undefined if that is not known. */
function moreAfter(limit: Limit, result: Result): number | undefined {
    const denied = !result.allowed && result.retryAfter !== never;
    if (result.source !== "server") {
        return result.source === "local" && denied ? result.retryAfter : undefined;
    }
    switch (limit.algorithm) {
        case "fixedWindow": return result.resetAfter;
        case "slidingWindow": case "slidingLog": return denied ? result.retryAfter : undefined;
        default: {
            const missing = Math.max(0, result.limit - result.remaining - 1); // tokens that come back after the next
            const after = Math.max(0, result.resetAfter - (missing * limit.period) / limit.count);
            return denied ? Math.min(after, result.retryAfter) : after;
        }
    }
}

/**
 * A set of fields: "draft-10" and "draft-11" are RateLimit and RateLimit-Policy, "draft-6" is RateLimit-Limit, -Remaining and -Reset, "x-ratelimit" the same with
 * X- before, and "x-ratelimit-date" that with Reset as a Unix time.
 */
export type FieldStyle = "draft-10" | "draft-11" | "draft-6" | "x-ratelimit" | "x-ratelimit-date";

const styles: readonly string[] = ["draft-10", "draft-11", "draft-6", "x-ratelimit", "x-ratelimit-date"] satisfies FieldStyle[];

/** Throws {@link InvalidError} for what is no list of styles: it may have none, and X-RateLimit-Reset has one meaning. */
export function mustBeStyles(given: unknown): readonly FieldStyle[] {
    const isList = Array.isArray(given) && given.every((one) => styles.includes(one as string));
    if (!isList || (given.includes("x-ratelimit") && given.includes("x-ratelimit-date"))) {
        throw new InvalidError(`fields: must be a list of ${styles.join(", ")}, with x-ratelimit or x-ratelimit-date, got ${shown(given)}`);
    }
    return given as FieldStyle[];
}

/** The state of a limit as fields show it, in milliseconds. What is undefined is not known. */
export interface Shown {
    name: string;
    quota: number;
    remaining: number;
    window?: number | undefined;
    more?: number | undefined;
    reset?: number | undefined;
    /** Whether its use has reached its threshold. */
    warns?: boolean | undefined;
}

/** Writes the fields of a limit. */
export function writeFields(chosen: readonly FieldStyle[], l: Shown, now: number): Record<string, string> {
    const fields: Record<string, string> = {}, name = quote(l.name), remaining = Math.max(0, l.remaining), is = (style: FieldStyle) => chosen.includes(style);
    const parameter = (key: string, ms: number | undefined) => ms === undefined ? "" : `;${key}=${wholeSeconds(ms)}`;
    const three = (prefix: string, from: number) => {
        fields[`${prefix}Limit`] = String(l.quota);
        fields[`${prefix}Remaining`] = String(remaining);
        if (l.reset !== undefined) {
            fields[`${prefix}Reset`] = String(from + wholeSeconds(l.reset));
        }
    };
    if (is("draft-10") || is("draft-11")) {
        fields["RateLimit-Policy"] = `${name};q=${l.quota}${parameter("w", l.window)}`;
        fields["RateLimit"] = `${name};r=${remaining}${parameter("t", l.more)}${l.warns === true ? ";stint-warn" : ""}`;
    }
    if (is("draft-6")) {
        three("RateLimit-", 0);
    }
    if (is("x-ratelimit") || is("x-ratelimit-date")) {
        three("X-RateLimit-", is("x-ratelimit-date") ? wholeSeconds(now) : 0);
    }
    return fields;
}

/** The fields of a response: none after the fallback's decision, which has no state of the limit. The limits of a policy are known to the server only. */
export function announce(chosen: readonly FieldStyle[], name: string, result: Result, limit?: Limit): Record<string, string> {
    if (result.source === "fallback") {
        return {};
    }
    const isNever = !result.allowed && result.retryAfter === never; // for which 0 seconds would mean at once
    const deniedFor = result.allowed || isNever ? undefined : result.retryAfter;
    const more = limit === undefined ? deniedFor : moreAfter(limit, result);
    const known = isNever ? {} : { more, reset: result.resetAfter };
    return writeFields(chosen, { name, quota: result.limit, remaining: result.remaining, window: limit?.fillTime, warns: result.warn, ...known }, Date.now());
}
