import { shortKey } from "../key.js";
import type { Limit } from "../limit.js";
import { type Result, never } from "../result.js";

/** Rounds milliseconds up to seconds, so that a client that waits so long is not too early. */
export const wholeSeconds = (ms: number): number => Math.max(0, Math.ceil(ms / 1000));

/** A string of structured fields. Bytes that are not allowed in one are written as in URLs, and so is %. */
function quote(name: string): string {
    const bytes = Array.from(Buffer.from(shortKey(name)), (b) => (b < 32 || b > 126 || b === 37 ? `%${b.toString(16).toUpperCase().padStart(2, "0")}` : String.fromCharCode(b)));
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

/** The fields of a response: none after the failure policy's answer, which has no state of the limit. The limits of a policy are known to the server only. */
export function announce(name: string, result: Result, limit?: Limit): Record<string, string> {
    if (result.source === "fallback") {
        return {};
    }
    const isNever = !result.allowed && result.retryAfter === never; // for which 0 seconds would mean at once
    const deniedFor = result.allowed || result.retryAfter === never ? undefined : result.retryAfter;
    const more = limit === undefined ? deniedFor : moreAfter(limit, result), remaining = Math.max(0, result.remaining);
    return {
        "RateLimit-Policy": `${quote(name)};q=${result.limit}${limit === undefined ? "" : `;w=${wholeSeconds(limit.fillTime)}`}`,
        "RateLimit": `${quote(name)};r=${remaining}${more === undefined || isNever ? "" : `;t=${wholeSeconds(more)}`}`,
        "X-RateLimit-Limit": String(result.limit),
        "X-RateLimit-Remaining": String(remaining),
        ...(isNever ? {} : { "X-RateLimit-Reset": String(wholeSeconds(result.resetAfter)) }),
    };
}
