import { randomBytes } from "node:crypto";
import { shown } from "../arguments.js";
import { InvalidError, type UnavailableError } from "../errors.js";
import { shortKey } from "../key.js";
import { type Limit, type LimitLike, limitOf } from "../limit.js";
import { type Known, mustKnow } from "../options.js";
import type { Key } from "../request.js";
import { type Duration, milliseconds } from "../rates.js";
import type { Result } from "../result.js";
import type { Word } from "../driver.js";
import { Lease } from "./lease.js";
import { now } from "./purse.js";

const tidyEvery = 250; // milliseconds: tokens unused for this time go back
const forgetAfter = 40; // rounds without a request after which a key is forgotten: 10 s
const defaultAhead = 100, mostAhead = 2 * tidyEvery;
const defaultKeys = 10_000;

/** The options of {@link Limiter.lease}. */
export interface LeaseOptions {
    /** The time that a chunk of tokens should last: 100 ms by default, at most 500 ms. */
    ahead?: Duration;
    /** The most keys with tokens in memory, 10,000 by default. Requests for others go to the server. */
    maxKeys?: number;
}

const leaseOptions = { ahead: true, maxKeys: true } satisfies Known<LeaseOptions>;

/** The parts of a limiter that leases use. */
export interface LeaseServer {
    ask: (words: readonly Word[]) => Promise<unknown>;
    allow: (key: Key, limit: Limit, tokens: number) => Promise<Result>;
    fallBack: (error: UnavailableError, key: Key, limit: Limit, tokens: number) => Result;
    timeout: number;
}

/**
 * Answers requests from memory, with tokens that Stint has set aside for this process. Make one with {@link Limiter.lease}.
 *
 * It keeps the same limits as the limiter itself: the server counts tokens as taken from the moment that it sets them aside until this process
 * states that they are not spent. A process stops spending five seconds after the last operation that the server is known to have carried
 * out; after ten seconds the server counts the tokens as spent.
 *
 * Token buckets and fixed windows of eight tokens or more can be leased, each key by at most 64 processes at a time. Near the limit, for keys in
 * little demand, and for all else, requests go to the server one by one.
 */
export class Leases implements AsyncDisposable {
    readonly #leases = new Map<string, Lease>();
    readonly #ahead: number;
    readonly #maxKeys: number;
    readonly #name = randomBytes(8).toString("hex");
    readonly #tidier: NodeJS.Timeout;
    #serial = 0; // each lease is another holder, so that none hears of operations of an earlier one
    #isClosed = false;

    /** Use {@link Limiter.lease}. */
    constructor(private readonly server: LeaseServer, options: LeaseOptions) {
        mustKnow(options, leaseOptions, "a lease");
        this.#ahead = Math.min(milliseconds(options.ahead ?? defaultAhead, "ahead"), mostAhead);
        this.#maxKeys = options.maxKeys ?? defaultKeys;
        if (!Number.isSafeInteger(this.#maxKeys) || this.#maxKeys < 1) {
            throw new InvalidError(`maxKeys: must be an integer above 0, got ${shown(this.#maxKeys)}`);
        }
        this.#tidier = setInterval(() => { this.#tidy(); }, tidyEvery);
        this.#tidier.unref();
    }

    /**
     * Takes tokens if the limit allows, as {@link Limiter.allow} does. The source of the result is "leased" when the answer came from memory. Then
     * `remaining` is the tokens there plus those remaining in the server's last reply.
     */
    async allow(key: Key, limit: LimitLike, tokens = 1): Promise<Result> {
        const own = limitOf(limit), lease = Number.isSafeInteger(tokens) && tokens >= 1 && tokens <= own.capacity ? this.#find(key, own) : undefined;
        return lease === undefined ? await this.server.allow(key, own, tokens) : await lease.take(tokens);
    }

    /** The tokens of a key that may be spent from memory. */
    held(key: Key): number { return this.#leases.get(idOf(key))?.held ?? 0; }

    /** Gives tokens back, and waits until that is done. Later requests each go to the server. Tokens of a return that fails count as spent after ten seconds. */
    async close(): Promise<void> {
        this.#isClosed = true;
        clearInterval(this.#tidier);
        await Promise.all([...this.#leases.values()].map((lease) => lease.end()));
    }

    [Symbol.asyncDispose](): Promise<void> { return this.close(); }

    /** The lease of a key and a limit. It makes one if there is room. After {@link close} there is none. */
    #find(key: Key, limit: Limit): Lease | undefined {
        if (this.#isClosed) {
            return undefined;
        }
        const id = idOf(key), old = this.#leases.get(id);
        if (old !== undefined && (old.limit === limit || String(old.limit) === String(limit))) {
            return old;
        }
        if (!isLeasable(limit) || (old === undefined && this.#leases.size >= this.#maxKeys)) {
            return undefined;
        }
        void old?.end(); // under another limit than before: its tokens go back
        const { ask, timeout, fallBack } = this.server, short = shortKey(key);
        const server = {
            ask, timeout, acquire: (tokens: number) => this.server.allow(key, limit, tokens),
            fallBack: (error: UnavailableError, tokens: number) => fallBack(error, key, limit, tokens),
        };
        const lease = new Lease(short, limit, `${this.#name}-${++this.#serial}`, server, this.#ahead, now);
        this.#leases.set(id, lease);
        return lease;
    }

    #tidy(): void {
        for (const [id, lease] of this.#leases) {
            if (lease.tidy() >= forgetAfter) {
                this.#leases.delete(id);
                void lease.end();
            }
        }
    }
}

/** The server lends an eighth of the tokens that are left, so none of fewer than eight. */
function isLeasable({ algorithm, capacity, corrects }: Limit): boolean {
    return (algorithm === "tokenBucket" || algorithm === "fixedWindow") && corrects && capacity >= 8; // no tokens that roll over are lent
}

/** The same text and bytes have two leases, because text is not always the same bytes. */
function idOf(key: Key): string { return typeof key === "string" ? `t${key}` : `b${Buffer.from(key).toString("latin1")}`; }
