import { ofReply } from "../errors.js";
import type { Clock } from "./clock.js";
import { Fraction } from "./fraction.js";
import type { FakeLimit } from "./limits.js";
import type { Ask, Decision, State } from "./decision.js";
import { decide, isFull, look } from "./states.js";

/** The limiter of a key. */
export interface Held { limit: FakeLimit; state: State }

/** The limiters of a server in memory, by their keys. */
export class Store {
    readonly #keys = new Map<string, Held>();

    constructor(private readonly clock: Clock) {}

    /** Nanoseconds since 1970. */
    get now(): bigint { return BigInt(this.clock.now) * 1_000_000n; }

    /** The limiter of a key; undefined if it has none, or is at its full limit. */
    held(key: string): Held | undefined {
        const held = this.#keys.get(key);
        if (held && isFull(held.limit, held.state, this.now)) {
            this.#keys.delete(key);
            return undefined;
        }
        return held;
    }

    /** Decides, and leaves the state as it is. */
    ask(key: string, limit: FakeLimit, ask: Ask): Decision { return decide(limit, this.state(key, limit), this.now, ask); }

    /** The state of a limit, as the decision on a request that it can never grant. */
    look(key: string, limit: FakeLimit): Decision { return look(limit, this.state(key, limit), this.now); }

    /** Keeps the state of a decision. */
    keep(key: string, limit: FakeLimit, state: State | undefined): void {
        if (state) {
            this.#keys.set(key, { limit, state });
        }
    }

    /** Resets a key. It returns whether there was something to reset. */
    delete(key: string): boolean {
        const had = this.held(key) !== undefined;
        this.#keys.delete(key);
        return had;
    }

    /** The state of a key under a limit. The tokens that were taken carry over to another rate. */
    state(key: string, limit: FakeLimit): State | undefined {
        const held = this.held(key);
        if (!held) {
            return undefined;
        }
        if (held.limit.row !== limit.row) {
            throw ofReply(`WRONGTYPE the key belongs to a limiter of ${held.limit.row.spec}, this command needs one of ${limit.row.spec}`);
        }
        if (held.state.kind === "window" && limit.rollover === 0n) {
            return { ...held.state, before: undefined };
        }
        if (held.state.kind !== "bucket") {
            return held.state;
        }
        const now = Fraction.of(this.now), taken = held.state.full.minus(now).over(held.limit.interval);
        return { kind: "bucket", full: now.plus(taken.times(limit.interval)) };
    }
}
