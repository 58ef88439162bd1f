import { Asker, isUndecided } from "./asker.js";
import type { BreakerOptions } from "./breaker.js";
import { type Client, type Driver, type Word, driverOf } from "./driver.js";
import { type Duration, milliseconds } from "./duration.js";
import { DeniedError, InvalidError, StintError } from "./errors.js";
import { shortKey } from "./key.js";
import { type Limit, type LimitLike, algorithms, limitOf } from "./limit.js";
import { LocalShares } from "./local.js";
import type { Policy } from "./policy.js";
import { type Charge, type MultiResult, type Result, integers, never, parseCharges, parseMulti, parseResult } from "./result.js";

/** A key, of any bytes. One of more than 200 bytes is sent in a shortened form. */
export type Key = string | Uint8Array;

/** The options of a {@link Limiter}. */
export interface LimiterOptions {
    /** The decision while Stint does not answer: {@link failOpen}, {@link failClosed} or {@link localShare}. */
    whenDown: Policy;
    /** The longest time that a call waits for Stint, 20 ms by default. */
    timeout?: Duration;
    breaker?: BreakerOptions;
    /** Called when the circuit breaker opens or closes. */
    onBreaker?: (open: boolean) => void;
    /** For {@link localShare}: the limits of policies on the server, by the policy's name. */
    assumed?: Record<string, LimitLike[]>;
}

/** The options of a request. */
export interface RequestOptions {
    /** The number asked of each limit without a cost, 1 by default. */
    tokens?: number;
    /** Granted only if so much remains: a number of tokens, or a percentage such as "10%". */
    keep?: number | string;
    /** Grants may be reserved this far ahead; wait for the result's `wait` before acting. */
    maxWait?: Duration;
    /** The key under which the server remembers a grant, so that the request can be sent again and settled. It needs `remember`. */
    id?: Key;
    /** How long a grant with an id can be settled. */
    remember?: Duration;
}

/** The options of {@link Limiter.check}. */
export interface CheckOptions extends RequestOptions {
    /** The values of the {name} in the keys of the policy, such as a tenant. */
    fields?: Record<string, Key>;
}

/** One of several limits. */
export interface Keyed {
    key: Key;
    limit: LimitLike;
    /** Its own number of tokens, in place of the request's; 0 only reports its state. */
    cost?: number;
    keep?: number | string;
}

const retryWhenDown = 1000; // milliseconds, after a denial by the policy

/** Asks a Stint server for each request, and decides when the server does not answer. Make one and keep it while the program runs. */
export class Limiter implements AsyncDisposable {
    readonly #asker: Asker;
    readonly #options: LimiterOptions;
    readonly #timeout: number;
    readonly #local: LocalShares | undefined;

    /** A limiter with its own connection, to the server that a client of ioredis or node-redis is for. */
    constructor(client: Client | Driver, options: LimiterOptions) {
        this.#options = options;
        this.#timeout = milliseconds(options.timeout ?? 20, "timeout");
        this.#local = options.whenDown.kind === "share" ? new LocalShares(options.whenDown.share) : undefined;
        this.#asker = new Asker("send" in client ? client : driverOf(client), options.breaker ?? {}, (open) => {
            if (!open) {
                this.#local?.clear();
            }
            options.onBreaker?.(open);
        });
    }

    /** Whether the circuit breaker is open: no requests are sent at present. */
    get isOpen(): boolean { return this.#asker.breaker.isOpen; }

    /** Ends the connection. Later calls throw {@link ClosedError}. */
    close(): void { this.#asker.close(); }

    [Symbol.asyncDispose](): Promise<void> {
        this.close();
        return Promise.resolve();
    }

    /** Takes tokens (1 by default) if the limit allows, all or none. */
    allow(key: Key, limit: LimitLike, tokens = 1): Promise<Result> { return this.#acquire(key, limit, tokens, []); }

    /** Takes the tokens that are there, at most so many. */
    allowAtMost(key: Key, limit: LimitLike, tokens: number): Promise<Result> { return this.#acquire(key, limit, tokens, ["UPTO"]); }

    /** Answers as {@link allow} and takes nothing. */
    peek(key: Key, limit: LimitLike, tokens = 1): Promise<Result> { return this.#acquire(key, limit, tokens, ["PEEK"]); }

    /** Takes tokens even if there are none: for work that has happened already. */
    force(key: Key, limit: LimitLike, tokens = 1): Promise<Result> { return this.#acquire(key, limit, tokens, ["FORCE"]); }

    /** Takes tokens of all limits at one instant, or of none. */
    async all(limits: readonly Keyed[], options: RequestOptions = {}): Promise<MultiResult> {
        if (limits.length === 0) {
            throw new InvalidError("limits: all needs at least one");
        }
        const tokens = count(options.tokens ?? 1, "tokens");
        const words: Word[] = ["RL.ALL"];
        for (const { key, limit, cost, keep } of limits) {
            const own = limitOf(limit);
            words.push(algorithms[own.algorithm].spec, shortKey(key), ...own.words());
            if (cost !== undefined) {
                words.push("COST", count(cost, "cost", 0));
            }
            words.push(...keepWords(keep ?? (own.algorithm === "leakyQueue" ? undefined : options.keep)));
        }
        words.push("TOKENS", tokens, ...requestWords(options));
        const local = limits.map(({ key, limit, cost }) => ({ key: text(key), limit: limitOf(limit), tokens: cost ?? tokens }));
        return await this.#several(words, options.id !== undefined, tokens, local);
    }

    /** Checks the limits of a policy stored on the server, for the caller with this id: all or none. */
    async check(policy: string, id: Key, options: CheckOptions = {}): Promise<MultiResult> {
        const tokens = count(options.tokens ?? 1, "tokens");
        const words: Word[] = ["RL.CHECK", policy, shortKey(id), tokens, ...keepWords(options.keep), ...requestWords(options)];
        const fields = Object.entries(options.fields ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));
        if (fields.length > 0) {
            words.push("WITH", ...fields.flatMap(([name, value]): Word[] => [name, shortKey(value)]));
        }
        const caller = JSON.stringify([policy, text(id), ...fields.map(([name, value]) => [name, text(value)])]);
        const local = (this.#options.assumed?.[policy] ?? []).map((limit, i) => ({ key: `${i} ${caller}`, limit: limitOf(limit), tokens }));
        return await this.#several(words, options.id !== undefined, tokens, local);
    }

    /**
     * Charges the true cost of a request that was granted with an id: tokens for each limit without a cost, or one amount for each limit,
     * null to keep it. It returns null if the server does not know the id. It is sent again if a reply is lost.
     */
    async settle(id: Key, charge: number | readonly (number | null)[]): Promise<Charge[] | null> {
        const amounts: Word[] = typeof charge === "number" ? [count(charge, "tokens", 0)]
            : ["COSTS", ...charge.map((n) => (n === null ? "-" : count(n, "costs", 0)))];
        return parseCharges(await this.#asker.askUntilAnswered(["RL.SETTLE", shortKey(id), ...amounts], this.#timeout));
    }

    /** Gives back everything that a request with this id took. It is {@link settle} in all other respects. */
    async cancel(id: Key): Promise<Charge[] | null> {
        return parseCharges(await this.#asker.askUntilAnswered(["RL.CANCEL", shortKey(id)], this.#timeout));
    }

    /** Gives tokens back. It returns the tokens left, or null if the key has no limiter. */
    async refund(key: Key, tokens: number): Promise<number | null> {
        const reply = await this.#asker.ask(["RL.REFUND", shortKey(key), count(tokens, "tokens")], this.#timeout);
        return reply === null ? null : (integers([reply], 1)[0] ?? null);
    }

    /** Resets a key to its full limit. It returns whether there was something to reset. */
    async reset(key: Key): Promise<boolean> {
        return (await this.#asker.ask(["DEL", shortKey(key)], this.#timeout)) === 1;
    }

    /**
     * Waits for tokens and takes them. With token buckets and queues, requests are served in the order in which they reached Stint. It throws
     * {@link DeniedError} if that would take longer than `atMost`, or for ever. If `signal` is aborted while it waits, it throws the
     * signal's reason and gives the tokens back.
     */
    async wait(key: Key, limit: LimitLike, options: { tokens?: number; atMost?: Duration; signal?: AbortSignal } = {}): Promise<Result> {
        const own = limitOf(limit), tokens = options.tokens ?? 1;
        const deadline = performance.now() + (options.atMost === undefined ? 365 * 86_400_000 : milliseconds(options.atMost, "atMost"));
        for (;;) {
            options.signal?.throwIfAborted();
            const left = Math.max(1, Math.floor(deadline - performance.now()));
            const result = await this.#acquire(key, own, tokens, own.algorithm === "tokenBucket" ? ["MAXWAIT", `${left}ms`] : []);
            if (result.allowed && result.wait <= left) {
                try {
                    await sleep(result.wait, options.signal);
                    return result;
                } catch (error) {
                    await this.refund(key, result.granted).catch(() => undefined);
                    throw error;
                }
            }
            if (result.allowed) { // a place in a queue with a longer wait
                await this.refund(key, result.granted);
                throw new DeniedError(`the place in the queue is ${result.wait} ms away, and there are ${left} ms`);
            }
            this.#giveUp(own, result, left);
            await sleep(result.retryAfter, options.signal);
        }
    }

    #giveUp(limit: Limit, denied: Result, left: number): void {
        if (denied.source === "fallback") {
            throw new DeniedError("Stint does not answer, and the policy denies", { cause: denied.cause });
        }
        if (denied.retryAfter === never) {
            throw new DeniedError(`more tokens than ${algorithms[limit.algorithm].command} can ever grant with a capacity of ${limit.capacity}`);
        }
        if (denied.retryAfter > left || (denied.source === "server" && ["tokenBucket", "leakyQueue"].includes(limit.algorithm))) {
            throw new DeniedError(`it would take ${denied.retryAfter} ms, and there are ${left} ms, or the queue is full`);
        }
    }

    async #acquire(key: Key, limit: LimitLike, tokens: number, options: Word[]): Promise<Result> {
        const own = limitOf(limit);
        const words: Word[] = [algorithms[own.algorithm].command, shortKey(key), ...own.words(), count(tokens, "tokens"), ...options];
        try {
            return parseResult(await this.#asker.ask(words, this.#timeout), own, tokens);
        } catch (error) {
            if (!isUndecided(error)) {
                throw error;
            }
            const several = this.#decide(error, tokens, [{ key: text(key), limit: own, tokens }]);
            const state = several.limits[0] ?? { limit: 0, remaining: 0, resetAfter: 0 };
            const { allowed, granted, retryAfter, wait, source } = several;
            return { allowed, granted, retryAfter, wait, source, ...state, cause: error };
        }
    }

    async #several(words: Word[], hasID: boolean, tokens: number, limits: { key: string; limit: Limit; tokens: number }[]): Promise<MultiResult> {
        try {
            return parseMulti(await (hasID ? this.#asker.askUntilAnswered(words, this.#timeout) : this.#asker.ask(words, this.#timeout)));
        } catch (error) {
            if (!isUndecided(error)) {
                throw error;
            }
            return this.#decide(error, tokens, limits);
        }
    }

    /** The policy's answer in place of Stint. */
    #decide(cause: StintError, tokens: number, limits: { key: string; limit: Limit; tokens: number }[]): MultiResult {
        const denied: MultiResult = { allowed: false, granted: 0, binding: -1, retryAfter: retryWhenDown, wait: 0, limits: [], source: "fallback", cause };
        if (this.#options.whenDown.kind === "open") {
            return { ...denied, allowed: true, granted: tokens, retryAfter: 0 };
        }
        if (!this.#local || limits.length === 0) {
            return denied;
        }
        const { allowed, binding, retryAfter, states } = this.#local.take(limits);
        return { ...denied, allowed, granted: allowed ? tokens : 0, binding, retryAfter, limits: states, source: "local" };
    }
}

function text(key: Key): string { return typeof key === "string" ? key : Buffer.from(key).toString("latin1"); }

function count(n: number, name: string, least = 1): number {
    if (!Number.isSafeInteger(n) || n < least || n > 1_000_000_000_000) {
        throw new InvalidError(`${name}: must be an integer between ${least} and 1000000000000, got ${n}`);
    }
    return n;
}

function keepWords(keep: number | string | undefined): Word[] {
    if (keep === undefined) {
        return [];
    }
    if (typeof keep === "number") {
        return ["KEEP", count(keep, "keep", 0)];
    }
    if (!/^\d+(\.\d{1,3})?%$/.test(keep) || parseFloat(keep) > 100) {
        throw new InvalidError(`keep: must be a number of tokens or a percentage such as "10%", got ${JSON.stringify(keep)}`);
    }
    return ["KEEP", keep];
}

function requestWords({ keep, maxWait, id, remember }: RequestOptions): Word[] {
    const words: Word[] = [];
    if (maxWait !== undefined) {
        if (keep !== undefined) {
            throw new InvalidError("a request has keep or maxWait, not both");
        }
        words.push("MAXWAIT", `${milliseconds(maxWait, "maxWait")}ms`);
    }
    if ((id === undefined) !== (remember === undefined)) {
        throw new InvalidError("a request has an id and a time to remember it, or neither");
    }
    if (id !== undefined && remember !== undefined) {
        words.push("AS", shortKey(id), "FOR", `${milliseconds(remember, "remember")}ms`);
    }
    return words;
}

function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
        if (signal?.aborted) {
            reject(signal.reason as Error);
            return;
        }
        const aborted = (): void => { clearTimeout(timer); reject(signal?.reason as Error); };
        const timer = setTimeout(() => { signal?.removeEventListener("abort", aborted); resolve(); }, Math.min(ms, 2 ** 31 - 1));
        signal?.addEventListener("abort", aborted, { once: true });
    });
}
