import { ofReply } from "../errors.js";
import { exactDuration } from "../rates.js";
import { Fraction } from "./fraction.js";
import { type FakeLimit, lacks, lengthOf, number, read, rowOf } from "./limits.js";
import type { State } from "./decision.js";
import type { Store } from "./store.js";
import { windowAt, without } from "./windows.js";

/** A time in a reply: milliseconds rounded up, and -1 for never. */
export function rounded(time: Fraction | null): number {
    return time === null ? -1 : Number(time.over(Fraction.of(1_000_000n)).ceil());
}

/** Carries out the command of an algorithm. */
export function acquire(store: Store, name: string, [key = "", ...words]: readonly string[]): unknown {
    const row = rowOf(name);
    if (!row) {
        throw lacks(name);
    }
    const rest = words.slice(lengthOf(row)), n = row.isOnePlace ? 1n : number(rest.shift() ?? "1"), limit = read(row, words, rest);
    const [option, time] = rest;
    if (option !== undefined && !row.options.some((known) => known === option)) {
        throw lacks(`${option} in ${name}`);
    }
    const maxWait = option === "MAXWAIT" ? exactDuration(time ?? "") : 0n;
    const { granted, limit: most, remaining, wait, reset, state } = store.ask(key, limit, { n, maxWait, ...(option !== undefined && { option }) });
    if (granted > 0n && option !== "PEEK") {
        store.keep(key, limit, state);
    }
    const left = Number(remaining > 0n || option === "FORCE" ? remaining : 0n); // only FORCE shows a debt
    return [Number(granted), Number(most), left, rounded(wait), rounded(reset)];
}

/** RL.REFUND: the tokens left, or null. */
export function refund(store: Store, [key = "", tokens = ""]: readonly string[]): number | null {
    const n = number(tokens), held = store.held(key);
    if (!held) {
        return null;
    }
    const { limit, state } = held, { limit: most, remaining: left } = store.look(key, limit), missing = most - left, back = n < missing ? n : missing;
    store.keep(key, limit, refunded(limit, state, back, store.now));
    return Number(left + back);
}

function refunded(limit: FakeLimit, state: State, back: bigint, now: bigint): State {
    switch (state.kind) {
        case "bucket": return { ...state, full: state.full.minus(limit.interval.times(back)) };
        case "window": {
            const window = windowAt(limit, state, now);
            return { ...window, taken: window.taken - back };
        }
        case "segments": return { ...state, counts: without(state.counts, back) };
        case "credits": return { ...state, spent: state.spent - back };
        default: throw ofReply("ERR the fake server refunds no places");
    }
}

/** CC.RELEASE: 1 if the holder had a place. */
export function release(store: Store, [key = "", holder = ""]: readonly string[]): number {
    const held = store.held(key);
    if (held?.state.kind !== "leases" || (held.state.ends.get(holder) ?? 0n) <= store.now) {
        return 0;
    }
    const ends = new Map(held.state.ends);
    ends.delete(holder);
    store.keep(key, held.limit, { kind: "leases", ends });
    return 1;
}
