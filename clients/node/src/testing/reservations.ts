import { ofReply } from "../errors.js";
import { givenBack } from "./adaptive.js";
import { rounded } from "./commands.js";
import type { State } from "./decision.js";
import { type FakeLimit, number } from "./limits.js";
import type { Store } from "./store.js";
import type { FixedWindow } from "./windows.js";

/** A limit of a reservation. */
export interface ReservedPart {
    key: string;
    limit: FakeLimit;
    hasCost: boolean;
    charged: bigint;
    /** The window, or the time, in which the tokens were taken. */
    mark: bigint;
}

/** A grant that is remembered under an id. */
export interface Reservation {
    /** The words of the request. */
    request: string;
    /** Nanoseconds since 1970. */
    end: bigint;
    /** The beginning of the reply. */
    answer: readonly number[];
    parts: ReservedPart[];
    isSettled: boolean;
}

/** The reservations of a server in memory, by their ids. */
export class Reservations {
    readonly #ids = new Map<string, Reservation>();

    constructor(private readonly store: Store) {}

    /** The reservation of an id, until its end. */
    held(id: string): Reservation | undefined {
        const held = this.#ids.get(id);
        return held && held.end > this.store.now ? held : undefined;
    }

    keep(id: string, reservation: Reservation): void { this.#ids.set(id, reservation); }

    /** Forgets an id. It returns whether there was something to forget. */
    delete(id: string): boolean {
        const had = this.held(id) !== undefined;
        this.#ids.delete(id);
        return had;
    }

    /** RL.SETTLE. */
    settle([id = "", ...amounts]: readonly string[]): unknown {
        const isList = amounts[0] === "COSTS", costs = isList ? amounts.slice(1) : [], tokens = isList ? 0n : number(amounts[0] ?? "");
        return this.#charge(id, (parts) => {
            if (isList && costs.length !== parts.length) {
                throw ofReply(`ERR COSTS: needs an amount or - for each of the ${parts.length} limits of the request`);
            }
            return parts.map(({ charged, hasCost }, i) => {
                const cost = costs[i] ?? "-";
                return isList ? (cost === "-" ? charged : number(cost)) : hasCost ? charged : tokens;
            });
        });
    }

    /** RL.CANCEL. */
    cancel([id = ""]: readonly string[]): unknown { return this.#charge(id, (parts) => parts.map(() => 0n)); }

    #charge(id: string, amountsOf: (parts: readonly ReservedPart[]) => bigint[]): unknown {
        const held = this.held(id);
        if (!held) {
            return null;
        }
        const amounts = amountsOf(held.parts).map((amount, i) => (held.parts[i]?.limit.row.isOnePlace ? 0n : amount)); // leases end
        if (held.isSettled && held.parts.some(({ charged }, i) => charged !== amounts[i])) {
            throw ofReply("ERR id: it was settled or canceled with other amounts; nothing was changed");
        }
        if (!held.isSettled) {
            held.isSettled = true;
            held.parts.forEach((part, i) => { this.#recharge(part, amounts[i] ?? 0n); });
        }
        return held.parts.map(({ key, limit, charged }) => {
            const present = presentLimit(this.store, key, limit), { remaining, reset } = this.store.look(key, present);
            return [Number(charged), Number(present.tokens), Number(remaining), rounded(reset)];
        });
    }

    /** Takes what is missing, also if it is not there, or gives back what was not used. */
    #recharge(part: ReservedPart, amount: bigint): void {
        const { store } = this, { key } = part, limit = presentLimit(store, key, part.limit), more = amount - part.charged;
        if (more > 0n) {
            store.keep(key, limit, store.ask(key, limit, { n: more, option: "FORCE" }).state);
        }
        const held = more < 0n ? store.held(key) : undefined;
        if (held?.limit.row === limit.row) {
            store.keep(key, limit, returned(limit, held.state, -more, part));
        }
        const after = store.held(key);
        if (after?.state.kind === "window") {
            store.keep(key, limit, unreserved(after.state, part));
        }
        part.charged = amount;
    }
}

/** The limit that a key is held to now, if it is one of the same algorithm. */
function presentLimit(store: Store, key: string, limit: FakeLimit): FakeLimit {
    const held = store.held(key);
    return held?.limit.row === limit.row ? { ...held.limit, holder: limit.holder } : limit;
}

/** The window or the time of the tokens that a state was given last. */
export function markOf(state: State | undefined, now: bigint): bigint {
    switch (state?.kind) {
        case "window": return state.end;
        case "counters": return state.number;
        default: return now;
    }
}

/** A state with tokens that are reserved, of those taken. */
export function reserve(state: State | undefined, granted: bigint): State | undefined {
    return state?.kind === "window" ? { ...state, reserved: state.reserved + granted } : state;
}

/** A window whose tokens of a reservation are settled: they are usage. */
function unreserved(state: FixedWindow, { mark, charged }: ReservedPart): FixedWindow {
    return inWindow(state, mark, (window) => ({ ...window, reserved: window.reserved > charged ? window.reserved - charged : 0n }));
}

/** Changes the window of an end, which may be over. */
function inWindow(state: FixedWindow, end: bigint, change: <W extends { taken: bigint; reserved: bigint }>(window: W) => W): FixedWindow {
    if (state.end === end) {
        return change(state);
    }
    return { ...state, closed: state.closed.map((past) => (past.end === end ? change(past) : past)).filter(({ taken }) => taken > 0n) };
}

/** A state after tokens were given back to the window that they were taken from. */
function returned(limit: FakeLimit, state: State, back: bigint, { mark }: ReservedPart): State {
    const less = (taken: bigint): bigint => (taken > back ? taken - back : 0n);
    switch (state.kind) {
        case "meter": return { ...state, full: state.full.minus(limit.interval.times(back)) };
        case "adaptive": return givenBack(limit, state, back);
        case "window": return inWindow(state, mark, (window) => ({ ...window, taken: less(window.taken) }));
        case "log": {
            const grants = state.grants.map((grant) => (grant.at === mark ? { ...grant, tokens: less(grant.tokens) } : grant));
            return { ...state, grants: grants.filter(({ tokens }) => tokens > 0n) };
        }
        case "counters":
            if (state.number === mark) {
                return { ...state, current: less(state.current) };
            }
            return state.number - 1n === mark ? { ...state, before: less(state.before) } : state;
        case "leases": return { ...state, ends: new Map([...state.ends].filter(([holder]) => holder !== limit.holder)) };
    }
}
