import { type Duration, milliseconds } from "./rates.js";
import { DeniedError, type StintError } from "./errors.js";
import { type LimitLike, limitOf } from "./limit.js";
import { type Known, mustKnow } from "./options.js";
import type { Limiter } from "./limiter.js";
import { type ProviderLimit, pauseOf, readLimits } from "./provider.js";
import type { Report } from "./report.js";
import type { Result } from "./result.js";

const reportEvery = 1000; // milliseconds: answers are summed up for this time
const samePause = 1000; // milliseconds: a pause that ends within this time after the reported one is not reported
const mostKeys = 10_000;

/** The options of {@link pacedFetch}. */
export interface PaceOptions {
    /** Sends the requests, the global fetch by default. */
    fetch?: typeof fetch;
    /** The key of a request's limit, by default "http:" and the host and port. */
    key?: (url: URL) => string;
    /** The longest wait of a request, a minute by default. A longer one is a {@link DeniedError}. */
    atMost?: Duration;
    /** The longest pause that an answer can ask for, a day by default. */
    maxPause?: Duration;
    /** How reports move the rate of an adaptive limit. */
    report?: Pick<Report, "every" | "down" | "up">;
    /** Called when a report is lost, or the limit could not follow an answer. The next answers tell the same. */
    onLostReport?: (error: StintError) => void;
}

const paceOptions = { fetch: true, key: true, atMost: true, maxPause: true, report: true, onLostReport: true } satisfies Known<PaceOptions>;
const rateOptions = { every: true, down: true, up: true } satisfies Known<NonNullable<PaceOptions["report"]>>;

/** The news from the answers for one key. Times are milliseconds of this.limiter.time.now(). */
interface Gate { closedUntil: number; good: number; bad: number; reported: number; pausedUntil: number }

/**
 * A fetch that waits until each request may be sent, and hears the answers: it keeps to the limit of another service.
 * If an answer says that fewer requests are left than the limit believes, the limit follows. With an adaptive limit,
 * all processes follow the service's answers: a 429 that one of them gets slows all down, and its Retry-After stops
 * all. It does not repeat requests.
 */
export function pacedFetch(limiter: Limiter, limit: LimitLike, options: PaceOptions = {}): typeof fetch {
    mustKnow(options, paceOptions, "pacedFetch");
    mustKnow(options.report ?? {}, rateOptions, "the reports of pacedFetch");
    const pacer = new Pacer(limiter, limit, options), send = options.fetch ?? fetch;
    return async (input, init) => {
        const url = new URL(input instanceof Request ? input.url : input);
        const signal = init?.signal ?? (input instanceof Request ? input.signal : undefined);
        const key = options.key?.(url) ?? `http:${url.host}`;
        const { remaining } = await pacer.turn(key, signal ?? undefined);
        let response;
        try {
            response = await send(input, init);
        } catch (error) {
            if (error instanceof Error && error.name === "TimeoutError") {
                await pacer.hear(key, 504, 0);
            }
            throw error;
        }
        const told = readLimits(response.headers);
        await pacer.follow(key, told, remaining);
        await pacer.hear(key, response.status, pauseOf(response, told));
        return response;
    };
}

class Pacer {
    readonly #gates = new Map<string, Gate>();
    readonly #atMost: number;
    readonly #maxPause: number;
    readonly #adapts: boolean;

    constructor(private readonly limiter: Limiter, private readonly limit: LimitLike, private readonly options: PaceOptions) {
        this.#atMost = milliseconds(options.atMost ?? "1m", "atMost");
        this.#maxPause = milliseconds(options.maxPause ?? "1d", "maxPause");
        this.#adapts = limitOf(limit).algorithm === "adaptive";
    }

    /** Waits until a request may be sent. */
    async turn(key: string, signal: AbortSignal | undefined): Promise<Result> {
        const until = this.limiter.time.now() + this.#atMost;
        await this.#open(key, until, signal);
        const left = Math.max(1, Math.floor(until - this.limiter.time.now()));
        const result = await this.limiter.wait(key, this.limit, { atMost: left, ...(signal && { signal }) });
        await this.#open(key, until, signal); // an answer may have asked for a pause during the wait
        return result;
    }

    async #open(key: string, until: number, signal: AbortSignal | undefined): Promise<void> {
        for (;;) {
            const closedUntil = this.#gate(key).closedUntil, pause = closedUntil - this.limiter.time.now();
            if (pause <= 0) {
                return;
            }
            if (closedUntil > until) {
                throw new DeniedError(`${key} asked for a pause that lasts ${Math.ceil(pause)} ms more, longer than this request may wait`);
            }
            await this.limiter.time.sleep(pause, signal);
        }
    }

    /**
     * Leaves as many requests as the service says, if these are fewer than the limiter believed when it gave the turn.
     */
    async follow(key: string, told: readonly ProviderLimit[], believed: number): Promise<void> {
        const least = Math.min(...told.filter(({ unit }) => unit === "requests").map(({ remaining }) => remaining));
        if (least >= believed || !limitOf(this.limit).corrects) {
            return;
        }
        try {
            await this.limiter.atMost(key, this.limit, least);
        } catch (error) {
            this.options.onLostReport?.(error as StintError);
        }
    }

    /** Takes an answer: its status, or 504 for a timeout, and the pause that it asks for. */
    async hear(key: string, status: number, asked: number): Promise<void> {
        const pause = Math.min(asked, this.#maxPause), now = this.limiter.time.now(), gate = this.#gate(key);
        gate.closedUntil = Math.max(gate.closedUntil, now + pause);
        if (!this.#adapts) {
            return;
        }
        if (status === 429 || status === 503 || status === 504) {
            gate.bad++;
        } else if (status < 500) {
            gate.good++;
        }
        const isNew = pause > 0 && now + pause > gate.pausedUntil + samePause;
        if (!isNew && (now - gate.reported < reportEvery || gate.good + gate.bad === 0)) {
            return;
        }
        const { good, bad } = gate;
        gate.good = gate.bad = 0;
        gate.reported = now;
        if (isNew) {
            gate.pausedUntil = now + pause;
        }
        try {
            await this.limiter.report(key, { ...this.options.report, good, bad, ...(isNew && { pause: Math.ceil(pause) }) });
        } catch (error) {
            this.options.onLostReport?.(error as StintError);
        }
    }

    #gate(key: string): Gate {
        let gate = this.#gates.get(key);
        if (!gate) {
            gate = { closedUntil: 0, good: 0, bad: 0, reported: -reportEvery, pausedUntil: 0 };
            if (this.#gates.size >= mostKeys) {
                const now = this.limiter.time.now();
                for (const [other, { closedUntil }] of this.#gates) {
                    if (closedUntil <= now) {
                        this.#gates.delete(other);
                    }
                }
            }
            if (this.#gates.size < mostKeys) {
                this.#gates.set(key, gate);
            }
        }
        return gate;
    }
}
