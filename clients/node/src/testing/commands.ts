import { ofReply } from "../errors.js";
import { givenBack, heard, perSecond, readReport } from "./adaptive.js";
import { exactDuration } from "../rates.js";
import { Fraction } from "./fraction.js";
import { type FakeLimit, lengthOf, number, read, rowOf, takeOptions, warning } from "./limits.js";
import type { State } from "./decision.js";
import type { Store } from "./store.js";

const millisecond = 1_000_000n, second = 1_000_000_000n; // in nanoseconds

/** The error of what only the server has. */
export const lacks = (what: string): Error => ofReply(`ERR the fake server has no ${what}: start a real one for this test, with startServer`);

/** A time in a reply: rounded up, and -1 for never. */
export function rounded(time: Fraction | null, unit = millisecond): number {
    return time === null ? -1 : Number(time.over(Fraction.of(unit)).ceil());
}

/** Carries out the command of an algorithm; undefined if there is no such command. */
export function acquire(store: Store, name: string, [key = "", ...words]: readonly string[]): unknown {
    const row = rowOf(name);
    if (!row) {
        return undefined;
    }
    const rest = words.slice(lengthOf(row)), n = row.isOnePlace ? 1n : number(rest.shift() ?? "1"), limit = takeOptions(read(row, words), rest);
    const [option, time] = rest;
    if (option !== undefined && !row.options.some((known) => known === option)) {
        throw lacks(`${option} in ${name}`);
    }
    const maxWait = option === "MAXWAIT" ? exactDuration(time ?? "") : 0n;
    const { granted, remaining, wait, reset, state } = store.ask(key, limit, { n, maxWait, ...(option !== undefined && { option }) });
    if (granted > 0n && option !== "PEEK") {
        store.keep(key, limit, state);
    }
    const left = Number(remaining > 0n || option === "FORCE" ? remaining : 0n); // only FORCE shows a debt
    if (row.form === "gcra") {
        return [granted > 0n ? 0 : 1, Number(limit.tokens), left, granted > 0n ? -1 : rounded(wait, second), rounded(reset, second)];
    }
    return [Number(granted), Number(limit.tokens), left, rounded(wait), rounded(reset), ...warning(limit, BigInt(left))];
}

/** RL.REFUND: the tokens left, or null. */
export function refund(store: Store, [key = "", tokens = ""]: readonly string[]): number | null {
    const n = number(tokens), held = store.held(key);
    if (!held) {
        return null;
    }
    const { limit, state } = held, left = store.look(key, limit).remaining, missing = limit.tokens - left, back = n < missing ? n : missing;
    store.keep(key, limit, refunded(limit, state, back));
    return Number(left + back);
}

function refunded(limit: FakeLimit, state: State, back: bigint): State {
    switch (state.kind) {
        case "meter": return { ...state, full: state.full.minus(limit.interval.times(back)) };
        case "window": {
            const taken = state.taken > back ? state.taken - back : 0n;
            return { ...state, taken, reserved: state.reserved < taken ? state.reserved : taken };
        }
        case "adaptive": return givenBack(limit, state, back);
        default: throw ofReply("ERR the fake server refunds buckets, adaptive limits and fixed windows");
    }
}

/** AD.REPORT: the rate and the rest of the pause, or null. */
export function report(store: Store, [key = "", ...words]: readonly string[]): unknown {
    const news = readReport(words), held = store.held(key);
    if (!held) {
        return null;
    }
    const { limit, state } = held;
    if (state.kind !== "adaptive") {
        throw ofReply(`WRONGTYPE the key belongs to a limiter of ${limit.row.spec}, this command needs one of AD`);
    }
    const isEmpty = !news.good && !news.bad && news.pause === 0n, after = isEmpty ? state : heard(limit, state, news, store.now);
    store.keep(key, limit, after);
    const pause = after.pausedUntil - store.now;
    return [perSecond(limit, after), pause > 0n ? rounded(Fraction.of(pause)) : 0];
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
