import { type FakeLimit } from "./limits.js";
import type { Part } from "./several.js";
import type { Store } from "./store.js";
import { isAligned, presentWindow } from "./windows.js";

/** RL.USAGE: the fields by turns with their values, or null. */
export function usage(store: Store, [key = ""]: readonly string[]): unknown {
    return store.held(key) === undefined ? null : usageOf(store, key);
}

/** RL.POLICY USAGE of limits. */
export function policyUsage(store: Store, parts: readonly Part[]): unknown {
    return parts.map(({ key, limit }) => ["key", Buffer.from(key, "latin1").toString(), ...usageOf(store, key, limit)]);
}

/** The fields of a usage. Unused is the limit of a key of which nothing was used. Nothing is lent. */
function usageOf(store: Store, key: string, unused?: FakeLimit): unknown[] {
    const held = store.held(key), limit = held?.limit ?? unused, milliseconds = (time: bigint): number => Number(time / 1_000_000n);
    const tokens = limit?.tokens ?? 0n, remaining = held === undefined ? tokens : store.look(key, held.limit).remaining;
    const least = (a: bigint, b: bigint): bigint => (a < b ? a : b);
    let [start, end, reserved]: (number | null)[] = [null, null, null], history: number[][] = [], notUsed = 0n;
    if (held?.state.kind === "window") {
        const window = presentWindow(held.limit, held.state, store.now);
        if (window.taken > 0n || isAligned(held.limit)) {
            [start, end] = [milliseconds(window.start), milliseconds(window.end)];
        }
        if (held.limit.history > 0) {
            notUsed = least(window.reserved, window.taken);
            reserved = Number(notUsed);
        }
        history = window.closed.map((past) => {
            const kept = least(past.reserved, past.taken);
            return [milliseconds(past.start), milliseconds(past.end), Number(past.taken - kept), Number(kept)];
        });
    }
    return [
        "limit", Number(tokens), "used", Number(tokens - remaining - notUsed), "reserved", reserved, "lent", 0, "remaining", Number(remaining),
        "start_ms", start, "end_ms", end, "history", history,
    ];
}
