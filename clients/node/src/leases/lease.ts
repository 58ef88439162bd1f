import type { Word } from "../driver.js";
import { UnavailableError } from "../errors.js";
import type { Limit } from "../limit.js";
import type { Result } from "../result.js";
import { Purse, type LoanAnswer, type Moment, loanFor, renewAfter } from "./purse.js";

/** The most callers that wait for tokens of one key. */
const mostWaiting = 20_000;

/** The parts of a limiter that leases use. */
export interface Server {
    /** Sends a command once. */
    ask: (words: readonly Word[]) => Promise<unknown>;
    /** Asks for the tokens of one request. */
    acquire(tokens: number): Promise<Result>;
    /** The fallback's decision. */
    fallBack(error: UnavailableError, tokens: number): Result;
    /** Milliseconds that a caller waits. */
    timeout: number;
}

/** A caller that waits for tokens that are being fetched. */
interface Waiter {
    tokens: number;
    /** Gives it the answer; undefined: it asks the server. */
    answer(result: Result | undefined): void;
}

/** Answers requests for one key under one limit: from a purse, or by asking the server. */
export class Lease {
    readonly #purse: Purse;
    #remaining = 0; // at the server for everybody else, after its last reply
    #low = 0; // with fewer tokens left, more are fetched
    #denial: { until: number; askNext: number } | undefined; // of one token
    #isFetching = false;
    #turn: Promise<unknown> = Promise.resolve(); // the operations on the loan, one after the other
    #waiters: Waiter[] = [];
    #isEnded = false;
    #alone = 0; // until then, requests go to the server one by one
    #asked = 0; // tokens granted to such requests
    #measured = 0; // tokens used until the last measurement of demand
    #at = 0; // time of that measurement
    #demand = 0; // tokens a millisecond
    #seen = 0; // tokens used until the last tidy
    #quiet = 0; // rounds of tidy since they were more

    constructor(
        private readonly key: Word, readonly limit: Limit, holder: string, private readonly server: Server,
        private readonly ahead: number, private readonly now: () => Moment,
    ) {
        this.#purse = new Purse(holder);
    }

    /** Tokens that may be spent from memory. */
    get held(): number { return this.#purse.isValid(this.now()) ? this.#purse.tokens : 0; }

    /** Answers from memory if possible, and asks the server or fetches tokens otherwise. */
    take(tokens: number): Result | Promise<Result> {
        const now = this.now();
        if (this.#purse.spend(now, tokens)) {
            if (this.#purse.tokens < this.#low) {
                this.#refill();
            }
            return this.#granted(tokens);
        }
        if (this.#denial !== undefined && now.monotonic < this.#denial.askNext) {
            const retryAfter = Math.max(1, Math.ceil(this.#denial.until - now.monotonic));
            return { allowed: false, granted: 0, limit: this.limit.capacity, remaining: 0, retryAfter, wait: 0, resetAfter: retryAfter, source: "leased" };
        }
        if (this.#isEnded || this.#waiters.length >= mostWaiting || now.monotonic < this.#alone || !this.#isInDemand(now, tokens)) {
            return this.#askAlone(tokens);
        }
        return this.#wait(tokens);
    }

    /** The answer from memory, where the end of a window is not known. */
    #granted(granted: number): Result {
        const { capacity, count, period, algorithm } = this.limit;
        const remaining = Math.min(this.#purse.tokens + this.#remaining, capacity);
        const resetAfter = algorithm === "tokenBucket" ? Math.ceil(((capacity - remaining) * period) / count) : 0;
        return { allowed: true, granted, limit: capacity, remaining, retryAfter: 0, wait: 0, resetAfter, source: "leased" };
    }

    /** Fetches tokens in the background. */
    #refill(): void {
        if (!this.#isFetching && !this.#isEnded) {
            this.#isFetching = true;
            void this.#inTurn(() => this.#fetch());
        }
    }

    /** Waits for a fetch, at most for the timeout. */
    async #wait(tokens: number): Promise<Result> {
        const result = await new Promise<Result | undefined>((resolve) => {
            const waiter: Waiter = { tokens, answer: (answer) => { clearTimeout(timer); resolve(answer); } };
            const timer = setTimeout(() => {
                this.#waiters = this.#waiters.filter((other) => other !== waiter);
                resolve(this.server.fallBack(new UnavailableError("timeout", `no tokens within ${this.server.timeout} ms`), tokens));
            }, this.server.timeout);
            this.#waiters.push(waiter);
            this.#refill();
        });
        return result ?? await this.#askAlone(tokens);
    }

    /** Asks the server for the tokens of one request. */
    async #askAlone(tokens: number): Promise<Result> {
        const sentAt = this.now().monotonic, result = await this.server.acquire(tokens);
        if (result.source === "server") {
            this.#remaining = result.remaining;
            if (!result.allowed && tokens === 1) {
                this.#denial = { until: sentAt + result.retryAfter, askNext: sentAt + Math.min(result.retryAfter, this.ahead) };
            }
            this.#asked += result.granted;
        }
        return result;
    }

    #inTurn<T>(work: () => Promise<T>): Promise<T> {
        const done = this.#turn.then(work);
        this.#turn = done.catch(() => undefined);
        return done;
    }

    /** Asks for tokens while callers wait. */
    async #fetch(): Promise<void> {
        if (this.#purse.hasUnheard) {
            await this.#sendBack().catch(() => undefined); // if the answer is lost again, its tokens count as spent
        }
        do {
            if (this.#isEnded) {
                this.#serve(() => undefined);
                break;
            }
            const now = this.now(), want = this.#want(now), op = this.#purse.lend(now, this.key, this.limit, want);
            try {
                this.#receive(want, this.#purse.hear(op, await this.server.ask(op.words)));
            } catch (error) {
                this.#purse.hearFailure(error);
                this.#fail(error);
            }
            this.#low = this.#purse.tokens / 4;
        } while (this.#waiters.length > 0);
        this.#isFetching = false;
    }

    /** Answers the waiters that an answer of the server decides. */
    #receive(want: number, { granted, remaining, isIgnored }: LoanAnswer): void {
        const now = this.now(), isDecided = granted < want && !isIgnored;
        if (granted === 0 && want > 0 && !isIgnored) {
            this.#alone = now.monotonic + this.ahead;
        }
        this.#remaining = remaining;
        this.#serve((waiter) => (this.#purse.spend(now, waiter.tokens) ? this.#granted(waiter.tokens) : isDecided ? undefined : "waits"));
    }

    #fail(error: unknown): void {
        if (error instanceof UnavailableError) {
            this.#serve((waiter) => this.server.fallBack(error, waiter.tokens));
            return;
        }
        // An older server, a user who may not, or another limiter on the key: each request gets the error.
        this.#alone = this.now().monotonic + loanFor;
        this.#serve(() => undefined);
    }

    /** Answers the waiters in order, except those that go on waiting. */
    #serve(answer: (waiter: Waiter) => Result | undefined | "waits"): void {
        const all = this.#waiters;
        this.#waiters = [];
        for (const waiter of all) {
            const result = answer(waiter);
            if (result === "waits") {
                this.#waiters.push(waiter);
            } else {
                waiter.answer(result);
            }
        }
    }

    /** The tokens to ask for: those of the waiters and of the time ahead, without those that are left. */
    #want(now: Moment): number {
        this.#measure(now);
        const { capacity } = this.limit;
        let tokens = Math.floor(Math.min(this.#demand * this.ahead, capacity));
        for (const waiter of this.#waiters) {
            tokens += waiter.tokens;
        }
        if (this.#purse.isValid(now)) {
            tokens -= this.#purse.tokens;
        }
        return Math.max(0, Math.min(tokens, capacity));
    }

    /** Whether two requests for n tokens are expected in the time ahead. Otherwise a loan costs more requests than it saves. */
    #isInDemand(now: Moment, tokens: number): boolean {
        this.#measure(now);
        return this.#demand * this.ahead >= 2 * tokens;
    }

    get #used(): number { return this.#purse.spent + this.#asked; }

    /** Estimates the tokens used in a millisecond. It follows a rise at once and a fall slowly. */
    #measure({ monotonic }: Moment): void {
        const span = monotonic - this.#at;
        if (span < 1) {
            return;
        }
        const sample = (this.#used - this.#measured) / span;
        this.#demand = sample < this.#demand ? (3 * this.#demand + sample) / 4 : sample;
        this.#measured = this.#used;
        this.#at = monotonic;
    }

    /** Gives back tokens that were not used since the last call, or renews a loan in use. It returns how many calls found no use. */
    tidy(): number {
        if (this.#used !== this.#seen || this.#waiters.length > 0) {
            this.#seen = this.#used;
            this.#quiet = 0;
            if (this.#purse.tokens > 0 && this.#purse.age(this.now()) >= renewAfter) {
                this.#refill();
            }
        } else if (++this.#quiet === 1 && this.#purse.isOpen) {
            this.#inTurn(() => this.#sendBack()).catch(() => undefined); // later, those of a lost answer count as spent
        }
        return this.#quiet;
    }

    /** Returns the tokens, or repeats the last return if its answer was lost. */
    async #sendBack(): Promise<void> {
        if (!this.#purse.isOpen) {
            return;
        }
        const op = this.#purse.giveBack(this.now(), this.key);
        try {
            this.#purse.hear(op, await this.server.ask(op.words));
        } catch (error) {
            this.#purse.hearFailure(error);
            throw error;
        }
    }

    /** Gives the tokens back, and tries it a second time if the answer is lost. Later requests go to the server one by one. */
    async end(): Promise<void> {
        this.#isEnded = true;
        await this.#inTurn(() => this.#sendBack()).catch(() => this.#inTurn(() => this.#sendBack())).catch(() => undefined);
    }
}
