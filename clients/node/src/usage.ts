import { integers, unknownForm } from "./result.js";

/** The usage in a window that is over. */
export interface ClosedWindow {
    /** Milliseconds since 1970, as {@link end}. */
    start: number;
    end: number;
    used: number;
    reserved: number;
}

/** What was used of a limit. Used, reserved, lent and remaining add up to limit, unless it is in debt. */
export interface Usage {
    limit: number;
    used: number;
    /** Charged to requests with an id that were not settled. 0 for a limit without history, where used has them too. */
    reserved: number;
    /** Set aside for holders of leases, and not known to be used. */
    lent: number;
    /** Below zero while the limit is in debt. */
    remaining: number;
    /** The open window, in milliseconds since 1970; null if the limit has none, or it begins with the next request. */
    start: number | null;
    end: number | null;
    /** The closed windows in which anything was used, the newest first. */
    history: ClosedWindow[];
}

/** What was used of a limit of a policy. */
export interface PolicyUsage extends Usage {
    /** The key of the limit. */
    key: string;
}

/** Reads the reply of RL.USAGE. */
export function parseUsage(reply: unknown): Usage | null { return reply === null ? null : usageOf(fieldsOf(reply), reply); }

/** Reads the reply of RL.POLICY USAGE. */
export function parsePolicyUsage(reply: unknown): PolicyUsage[] {
    if (!Array.isArray(reply)) {
        throw unknownForm(reply);
    }
    return reply.map((each) => {
        const fields = fieldsOf(each);
        return { key: String(fields.get("key")), ...usageOf(fields, each) };
    });
}

/** The fields of a map, which before RESP3 is an array of names and values by turns. */
export function fieldsOf(reply: unknown): Map<unknown, unknown> {
    const fields = new Map<unknown, unknown>(reply instanceof Map ? reply : Object.entries(!Array.isArray(reply) ? Object(reply) as object : {}));
    if (Array.isArray(reply)) {
        for (let i = 0; i + 1 < reply.length; i += 2) {
            fields.set(String(reply[i]), reply[i + 1]);
        }
    }
    return fields;
}

function usageOf(fields: Map<unknown, unknown>, reply: unknown): Usage {
    const [start = null, end = null, reserved = 0] = ["start_ms", "end_ms", "reserved"].map((name) => fields.get(name) ?? undefined) as (number | undefined)[];
    const [limit, used, lent, remaining] = integers(["limit", "used", "lent", "remaining"].map((name) => fields.get(name)), 4) as [number, number, number, number];
    const closed = fields.get("history");
    if (!Array.isArray(closed)) {
        throw unknownForm(reply);
    }
    const history = closed.map((each) => {
        const [from, to, taken, held] = integers(each, 4) as [number, number, number, number];
        return { start: from, end: to, used: taken, reserved: held };
    });
    return { limit, used, reserved, lent, remaining, start, end, history };
}
