import type { Keyed } from "../request.js";
import { type MultiResult, never } from "../result.js";
import { wholeSeconds } from "./fields.js";

/** Limits that are asked at one instant, all or nothing, by the names that a denial gives them. */
export type Limits = Record<string, Keyed>;

/** A denial in words and as fields, both for models to read. */
export interface Denial {
    message: string;
    /** The name of the limit that denied; null if the policy for a server that does not answer did. */
    limit: string | null;
    /** null if the same request will never be granted. */
    retryAfterSeconds: number | null;
    /** Absent if the same request will never be granted. */
    retryAfterMs?: number;
    remaining: number | null;
    capacity: number | null;
}

/** Describes the denial of what, such as "The call of the tool search". */
export function denial(what: string, names: readonly string[], result: MultiResult): Denial {
    const state = result.limits[result.binding], limit = names[result.binding];
    const after = Math.max(1, wholeSeconds(result.retryAfter)), again = `Try again in ${after === 1 ? "1 second" : `${after} seconds`}.`;
    if (result.source === "fallback" || state === undefined || limit === undefined) {
        const message = `${what} cannot be counted at present. ${again}`;
        const times = { retryAfterSeconds: after, retryAfterMs: after * 1000 };
        return { message, limit: null, ...times, remaining: null, capacity: null };
    }
    const { remaining, limit: capacity } = state;
    if (result.needsPayment === true) {
        const message = `${what} needs more credits than "${limit}" has, ${remaining}. Waiting does not help.`;
        return { message, limit, retryAfterSeconds: null, remaining, capacity };
    }
    if (result.retryAfter === never) {
        const message = `${what} asks for more than the limit "${limit}" ever grants, ${capacity}. Do not repeat it as it is.`;
        return { message, limit, retryAfterSeconds: null, remaining, capacity };
    }
    const message = `${what} was denied by the limit "${limit}": ${Math.max(0, remaining)} of ${capacity} are left. ${again}`;
    const retryAfterMs = Math.ceil(result.retryAfter);
    return { message, limit, retryAfterSeconds: after, retryAfterMs, remaining, capacity };
}
