import type { Limit } from "./limit.js";
import type { Time } from "./time.js";

const mostKeys = 100_000;
const sweepEvery = 1000; // milliseconds: a sweep reads all buckets

interface Bucket {
    tokens: number;
    at: number; // milliseconds of the time
    readonly capacity: number;
    readonly perMs: number;
}

/** What is asked of one limit. */
export interface Asked { key: string; limit: Limit; tokens: number }

/** A local decision about several limits together. */
export interface LocalAnswer {
    allowed: boolean;
    /** The position of the limit that denied, or -1. */
    binding: number;
    /** Milliseconds, -1 if waiting does not help. */
    retryAfter: number;
    states: { limit: number; remaining: number; resetAfter: number }[];
}

/** Buckets of this process, each with a share of a limit, for the time in which Stint does not answer. */
export class LocalShares {
    readonly #buckets = new Map<string, Bucket>();
    #swept = -Infinity;

    constructor(private readonly share: number, private readonly time: Time) {}

    /** Takes tokens of all limits, or of none; without keep it only looks. */
    take(given: readonly Asked[], keep: boolean): LocalAnswer {
        const limits = given.map((asked) => asked.limit.algorithm === "penalty" ? { ...asked, tokens: 0 } : asked);
        const answer: LocalAnswer = { allowed: true, binding: -1, retryAfter: 0, states: [] };
        const buckets = limits.map(({ key, limit }) => this.#bucket(key, limit));
        limits.forEach(({ tokens }, i) => {
            const wait = waitFor(buckets[i], tokens);
            if (wait !== 0 && (answer.binding < 0 || isLonger(wait, answer.retryAfter))) {
                answer.allowed = false;
                answer.binding = i;
                answer.retryAfter = wait;
            }
        });
        limits.forEach(({ tokens }, i) => {
            const bucket = buckets[i];
            if (bucket && answer.allowed && keep) {
                bucket.tokens -= tokens;
            }
            answer.states.push(stateOf(bucket));
        });
        return answer;
    }

    #bucket(key: string, asked: Limit): Bucket | undefined {
        const limit = asked.shared;
        const now = this.time.now(), id = `${limit.algorithm} ${limit.words.join(" ")} ${key}`;
        let bucket = this.#buckets.get(id);
        if (!bucket) {
            if (this.#buckets.size >= mostKeys && now - this.#swept >= sweepEvery) {
                this.#swept = now;
                this.#sweep(now);
            }
            if (this.#buckets.size >= mostKeys) {
                return undefined;
            }
            const isKnown = limit.algorithm !== "balance"; // whose credits nobody knows
            const capacity = isKnown ? Math.max(1, Math.floor(limit.capacity * this.share)) : 0;
            bucket = { tokens: capacity, at: now, capacity, perMs: isKnown ? (limit.count * this.share) / limit.period : 1 };
            this.#buckets.set(id, bucket);
        }
        refill(bucket, now);
        return bucket;
    }

    /** Deletes full buckets, which equal new ones. */
    #sweep(now: number): void {
        for (const [id, bucket] of this.#buckets) {
            refill(bucket, now);
            if (bucket.tokens >= bucket.capacity) {
                this.#buckets.delete(id);
            }
        }
    }
}

function refill(bucket: Bucket, now: number): void {
    bucket.tokens = Math.min(bucket.capacity, bucket.tokens + Math.max(0, now - bucket.at) * bucket.perMs);
    bucket.at = now;
}

/** Milliseconds until a bucket has so many tokens, 0 if it has them, -1 if it never will. */
function waitFor(bucket: Bucket | undefined, tokens: number): number {
    if (!bucket) {
        return sweepEvery;
    }
    if (tokens > bucket.capacity) {
        return -1;
    }
    return tokens <= bucket.tokens ? 0 : Math.max(1, Math.ceil((tokens - bucket.tokens) / bucket.perMs));
}

function isLonger(a: number, b: number): boolean { return b !== -1 && (a === -1 || a > b); }

function stateOf(bucket: Bucket | undefined): { limit: number; remaining: number; resetAfter: number } {
    if (!bucket) {
        return { limit: 0, remaining: 0, resetAfter: sweepEvery };
    }
    const missing = bucket.capacity - bucket.tokens;
    return { limit: bucket.capacity, remaining: Math.floor(bucket.tokens), resetAfter: Math.ceil(missing / bucket.perMs) };
}
