import { mustBeList } from "./arguments.js";
import { count } from "./count.js";
import { InvalidError, RefusedError, StintError, UnavailableError } from "./errors.js";
import { type Known, mustKnow } from "./options.js";
import { type CheckOptions, type Key, type Keyed, type RequestOptions, checkOptions } from "./request.js";
import type { Charge, MultiResult } from "./result.js";

/** Why nothing can be done about an id that the server does not know any longer. */
export const forgotten = "the block took longer than the server remembers its id, and all that was reserved stays taken: "
    + "remember it for longer";

/** The calls of a limiter that a reservation makes. */
export interface Reserving {
    check(policy: string, id: Key, options: CheckOptions): Promise<MultiResult>;
    all(limits: readonly Keyed[], options: RequestOptions): Promise<MultiResult>;
    settle(id: Key, tokens: number): Promise<Charge[] | null>;
    cancel(id: Key): Promise<Charge[] | null>;
}

/** The options of {@link Limiter.reserving}. */
export interface ReservingOptions extends CheckOptions {
    /** The caller of a policy. */
    caller?: Key;
}

const reservingOptions = { ...checkOptions, caller: true } satisfies Known<ReservingOptions>;

/**
 * Tokens that are taken under an id until the end of a block:
 * `await using reserved = await limiter.reserving("llm", { caller: "user7", tokens: 8000, id, remember: "10m" });`
 * At the end of the block, the cost that {@link settle} was given is charged; without it, everything is given back.
 */
export class Reserved implements AsyncDisposable {
    #cost: number | undefined;

    /** The charges of the limits, once the block has ended; null if the server does not know the id. */
    charges: Charge[] | null = null;
    /** Why the cost was not charged, or the tokens not given back. A server that is gone is no error of the block. */
    error: StintError | undefined;

    /** Use {@link Limiter.reserving}. */
    constructor(private readonly limiter: Reserving, private readonly id: Key, readonly result: MultiResult) {}

    /** Whether to go ahead. */
    get allowed(): boolean { return this.result.allowed; }

    /** Sets the true cost, in place of the tokens that were reserved. */
    settle(tokens: number): void {
        count(tokens, "tokens", 0);
        if (this.#cost !== undefined && this.#cost !== tokens) {
            throw new InvalidError(`tokens: this was settled with ${this.#cost} already, got ${tokens}`);
        }
        this.#cost = tokens;
    }

    async [Symbol.asyncDispose](): Promise<void> {
        const mayBeTaken = this.result.allowed || this.result.cause instanceof UnavailableError; // a reply may have been lost
        if (!mayBeTaken) {
            return;
        }
        const { charges, error } = await settleOrCancel(this.limiter, this.id, this.#cost, this.result);
        this.charges = charges;
        this.error = error;
    }
}

/** The end of a reservation. */
export interface Settlement {
    charges: Charge[] | null;
    error: StintError | undefined;
}

/**
 * Charges a cost to a reservation, or gives everything back if there is none. An error of Stint is in the settlement.
 */
export async function settleOrCancel(
    limiter: Pick<Reserving, "settle" | "cancel">, id: Key, cost: number | undefined, { source }: MultiResult,
): Promise<Settlement> {
    try {
        const charges = await (cost === undefined ? limiter.cancel(id) : limiter.settle(id, cost));
        const isForgotten = charges === null && source === "server";
        return { charges, error: isForgotten ? new RefusedError(forgotten) : undefined };
    } catch (error) {
        if (!(error instanceof StintError)) {
            throw error;
        }
        return { charges: null, error };
    }
}

/** Implements {@link Limiter.reserving}. */
export async function reserve(limiter: Reserving, what: string | readonly Keyed[], given: ReservingOptions): Promise<Reserved> {
    mustKnow(given, reservingOptions, "reserving");
    const { caller = "", fields, ...options } = given;
    const { id } = options;
    if (id === undefined) {
        throw new InvalidError("id: reserving needs an id, and a time to remember it");
    }
    if (typeof what !== "string") {
        mustBeList(what, "limits");
    }
    const result = typeof what === "string" ? await limiter.check(what, caller, fields === undefined ? options : { ...options, fields }) : await limiter.all(what, options);
    return new Reserved(limiter, id, result);
}
