import { randomUUID } from "node:crypto";
import { mustBeFunction, mustBeList, shown } from "./arguments.js";
import { count } from "./count.js";
import { InvalidError, RefusedError, StintError, UnavailableError } from "./errors.js";
import type { Estimates } from "./estimates.js";
import { nameOf } from "./key.js";
import { type Known, mustKnow } from "./options.js";
import { type Duration, milliseconds } from "./rates.js";
import { type CheckOptions, type ExtendOptions, type Key, type Keyed, keyedParts } from "./request.js";
import { type Reserving, forgotten, settleOrCancel } from "./reserved.js";
import { type Charge, type MultiResult, never } from "./result.js";

const defaultStep = 256, mostStep = 1_000_000_000;

/** The calls of a limiter that a stream makes. */
export interface Streaming extends Reserving {
    extend(id: Key, n: number, tokens: number, options: ExtendOptions): Promise<MultiResult | null>;
}

/** The options of {@link Limiter.streaming}. */
export interface StreamOptions extends Pick<CheckOptions, "fields" | "keep"> {
    /** The caller of a policy. */
    caller?: Key;
    /** Tokens that the stream uses from its beginning, such as those of the prompt: 0 by default. */
    prompt?: number;
    /**
     * Tokens of an extension, and of the first reservation of a caller whose streams are not known yet: 256 by default,
     * at most 10⁹.
     */
    step?: number;
    /** How long the server remembers the reservation after the last extension: 10m by default. */
    remember?: Duration;
    /** "stream:" and a UUID by default. In a cluster with groups it needs the hash tag of the keys. */
    id?: Key;
}

const streamOptions = {
    caller: true, prompt: true, step: true, remember: true, id: true, fields: true, keep: true,
} satisfies Known<StreamOptions>;

/** A budget has no tokens left for a stream. What the stream counted until then is charged when it is closed. */
export class BudgetSpentError extends StintError {
    /** The denial is in result. Used is the number of tokens that the stream had counted, 0 if it never began. */
    constructor(readonly result: MultiResult, readonly used: number) {
        const { retryAfter, source, cause } = result;
        const why = source !== "server" ? String(cause?.message)
            : retryAfter === never ? "it will never be granted" : `try again in ${Math.ceil(retryAfter / 1000)} s`;
        super(`the budget is spent after ${used} tokens: ${why}`, { cause });
    }
}

/**
 * A stream that ends at its budget: it reserves some tokens, reserves more while it runs, and is charged once for what
 * it used.
 * `await using stream = await limiter.streaming("llm", { caller: "user7", prompt: 400 });`
 * `for await (const chunk of stream.wrap(chunks, tokensOf)) { … }`
 */
export class BudgetStream implements AsyncDisposable {
    #used: number;
    #reserved: number;
    #next = 1; // the number of the next extension
    #asksAhead = true;
    #hasBegun = false;
    #total: number | undefined;
    #stopped: StintError | undefined;
    #turn: Promise<void> = Promise.resolve(); // one call of add after the other
    #end: Promise<void> | undefined;

    /** The charges of the limits, once the stream is closed; null if the server does not know the id. */
    charges: Charge[] | null = null;
    /** Why the stream was not charged, or its tokens not given back. A server that is gone is no error of the block. */
    error: StintError | undefined;

    /** Use {@link Limiter.streaming}. */
    constructor(
        private readonly limiter: Streaming, readonly id: Key, readonly result: MultiResult,
        private readonly options: { prompt: number; step: number; extend: ExtendOptions },
        private readonly estimates: Estimates, private readonly caller: string,
    ) {
        this.#used = options.prompt;
        this.#reserved = result.granted;
    }

    /** Tokens counted until now, with those of the prompt. */
    get used(): number { return this.#used; }

    /** All tokens that were granted. */
    get reserved(): number { return this.#reserved; }

    /**
     * Counts tokens of a chunk, before the chunk is passed on. It throws {@link BudgetSpentError} if the budget has no
     * room for them: then the chunk is not counted, and the stream is over. `add(0)` says that the model has begun, so
     * that the prompt is charged.
     */
    async add(tokens: number): Promise<void> {
        count(tokens, "tokens", 0);
        const added = this.#turn.then(() => this.#add(tokens));
        this.#turn = added.catch(() => undefined);
        await added;
    }

    /**
     * Passes on chunks, each once its tokens are counted. However that ends, the source is closed, so that a provider
     * stops.
     */
    async *wrap<T>(
        chunks: AsyncIterable<T> | Iterable<T>, tokensOf: (chunk: T) => number,
    ): AsyncGenerator<T, void, undefined> {
        mustBeFunction(tokensOf, "tokensOf");
        for await (const chunk of chunks) {
            await this.add(tokensOf(chunk));
            yield chunk;
        }
    }

    /**
     * Sets the true use of the whole call, with the prompt, such as the usage in a provider's last event, in place of
     * the tokens counted.
     */
    settle(tokens: number): void {
        count(tokens, "tokens", 0);
        if (this.#total !== undefined && this.#total !== tokens) {
            throw new InvalidError(`tokens: this was settled with ${this.#total} already, got ${tokens}`);
        }
        this.#total = tokens;
    }

    /**
     * Charges what was used, or gives everything back if {@link add} and {@link settle} were never called. Only the
     * first call has an effect.
     */
    [Symbol.asyncDispose](): Promise<void> { return this.#end ??= this.#turn.then(() => this.#close()); }

    async #close(): Promise<void> {
        const used = this.#total ?? (this.#hasBegun ? this.#used : undefined);
        this.#stopped ??= new InvalidError("tokens: the stream is closed, and counts no more");
        if (used !== undefined) {
            this.estimates.add(this.caller, Math.max(0, used - this.options.prompt));
        }
        const { charges, error } = await settleOrCancel(this.limiter, this.id, used, this.result);
        this.charges = charges;
        this.error = error;
    }

    async #add(tokens: number): Promise<void> {
        if (this.#stopped !== undefined) {
            throw this.#stopped;
        }
        this.#hasBegun = true;
        try {
            await this.#makeRoom(tokens);
        } catch (error) {
            if (error instanceof StintError) {
                this.#stopped = error;
            }
            throw error;
        }
        this.#used += tokens;
        if (this.#asksAhead && this.#reserved - this.#used < this.#size / 2) {
            await this.#extendAhead();
        }
    }

    /** Tokens of the next extension. They grow with the stream, so that a long one makes few. */
    get #size(): number { return Math.max(this.options.step, Math.floor(this.#reserved / 4)); }

    /** Extends the reservation until tokens fit. */
    async #makeRoom(tokens: number): Promise<void> {
        for (let need = this.#need(tokens); need > 0; need = this.#need(tokens)) {
            const asked = Math.max(need, this.#size), result = await this.#extend(asked);
            if (!result.allowed) {
                throw new BudgetSpentError(result, this.#used);
            }
            this.#asksAhead = result.granted >= asked;
        }
    }

    #need(tokens: number): number { return this.#used + tokens - this.#reserved; }

    /** Asks before the tokens are needed. If that fails, nothing is lost: they are asked for again in need. */
    async #extendAhead(): Promise<void> {
        const asked = this.#size;
        this.#asksAhead = false;
        try {
            this.#asksAhead = (await this.#extend(asked)).granted >= asked;
        } catch (error) {
            if (!(error instanceof StintError)) {
                throw error;
            }
        }
    }

    async #extend(tokens: number): Promise<MultiResult> {
        const result = await this.limiter.extend(this.id, this.#next, tokens, this.options.extend);
        if (result === null) {
            throw new RefusedError(forgotten);
        }
        if (result.allowed) {
            this.#reserved += result.granted;
            this.#next += result.source === "server" ? 1 : 0; // what the fallback granted, the server has not counted
        }
        return result;
    }
}

/** Implements {@link Limiter.streaming}. */
export async function openStream(
    limiter: Streaming, what: string | readonly Keyed[], given: StreamOptions, estimates: Estimates,
): Promise<BudgetStream> {
    mustKnow(given, streamOptions, "streaming");
    const { caller = "", fields, keep } = given, id = given.id ?? `stream:${randomUUID()}`;
    const step = count(given.step ?? defaultStep, "step"), prompt = count(given.prompt ?? 0, "prompt", 0);
    if (step > mostStep) {
        throw new InvalidError(`step: must be at most ${mostStep}, got ${shown(step)}`);
    }
    if (typeof what !== "string") {
        mustBeList(what, "limits");
    }
    const remember = `${milliseconds(given.remember ?? "10m", "remember")}ms`;
    const kept = keep === undefined ? {} : { keep };
    const reserve = (tokens: number): Promise<MultiResult> => {
        const options = { tokens, id, remember, ...kept, ...(fields !== undefined && { fields }) };
        return typeof what === "string" ? limiter.check(what, caller, options) : limiter.all(what, options);
    };
    const name = JSON.stringify(typeof what === "string" ? [what, nameOf(caller)] : what.map((keyed) => {
        mustKnow(keyed, keyedParts, "one of several limits");
        return nameOf(keyed.key);
    }));
    const first = estimates.of(name, step);
    let result = await reserve(prompt + first);
    const left = result.source === "server" && !result.allowed ? result.limits[result.binding]?.remaining ?? 0 : 0;
    if (first > 1 && left > prompt) { // the rest of the budget lets it begin
        result = await reserve(prompt + 1);
    }
    if (!result.allowed) {
        if (result.cause instanceof UnavailableError) { // a reply may have been lost
            await settleOrCancel(limiter, id, undefined, result);
        }
        throw new BudgetSpentError(result, 0);
    }
    const limits = typeof what === "string" ? {} : { limits: what };
    const options = { prompt, step, extend: { upTo: true, remember, ...limits } };
    return new BudgetStream(limiter, id, result, options, estimates, name);
}
