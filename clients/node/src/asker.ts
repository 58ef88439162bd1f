import { Breaker, type BreakerOptions } from "./breaker.js";
import { Deadlines } from "./deadlines.js";
import type { Driver, Word } from "./driver.js";
import { ClosedError, InvalidError, RefusedError, StintError, UnauthenticatedError, UnavailableError } from "./errors.js";

/** The most commands without a reply. */
const mostWaiting = 20_000;

/** The shortest patience of a probe, in milliseconds. */
const leastPatience = 200;

const firstPause = 2, longestPause = 100; // milliseconds between two attempts of a command that may be repeated

/** Sends commands within a deadline, unless the breaker is open. */
export class Asker {
    readonly breaker: Breaker;
    #waiting = 0;
    #closed = false;

    /** Patience, in milliseconds, is the time that a probe waits: for several round trips, with those of a new connection. */
    readonly #patience: number;

    readonly #deadlines: Deadlines;

    /** The time of performance.now() until which calls wait for the first reply, or 0 before the first call. */
    #connectsUntil = 0;
    #connected = false; // or not, and calls no longer wait for it

    constructor(private readonly driver: Driver, timeout: number, private readonly connectTimeout: number, options: BreakerOptions, changed: (open: boolean, cause?: StintError) => void) {
        this.#deadlines = new Deadlines(timeout);
        this.#patience = Math.max(leastPatience, 5 * timeout);
        this.breaker = new Breaker(options, () => this.#probe(), changed);
    }

    /** Sends a command once. It settles within the timeout, or that of connecting, whatever the driver does. */
    ask(words: readonly Word[], timeout: number): Promise<unknown> {
        const refusal = this.#refusal();
        if (refusal !== undefined) {
            return Promise.reject(refusal);
        }
        const begun = performance.now();
        this.#waiting++;
        return new Promise((resolve, reject) => {
            this.#send(words, this.#within(timeout, begun), begun, (reply) => {
                this.#waiting--;
                this.#connected = true;
                this.breaker.succeeded();
                resolve(reply);
            }, (error) => {
                this.#waiting--;
                this.#connected = true;
                if (isSilence(error)) {
                    this.breaker.failed(begun, error);
                } else {
                    this.breaker.succeeded();
                }
                reject(error);
            });
        });
    }

    /**
     * The time that a call waits. Connecting, logging in, and a program that has just started take longer than a decision: the first calls
     * have the time for it.
     */
    #within(timeout: number, now: number): number {
        if (this.#connected) {
            return timeout;
        }
        this.#connectsUntil ||= now + this.connectTimeout;
        return Math.max(timeout, Math.round(this.#connectsUntil - now));
    }

    /** Why nothing is sent. */
    #refusal(): StintError | undefined {
        if (this.#closed) {
            return new ClosedError("the limiter was closed");
        }
        if (this.breaker.isOpen) {
            return new UnavailableError("circuit-open", "Stint failed several times in a row and gets no requests until it works again");
        }
        if (this.#waiting >= mostWaiting) {
            return new UnavailableError("overloaded", `${mostWaiting} requests wait for replies`);
        }
        return undefined;
    }

    /** Sends a command that may be carried out twice, again and again within the timeout, after failures that another attempt may not meet. */
    async askUntilAnswered(words: readonly Word[], timeout: number): Promise<unknown> {
        const deadline = performance.now() + timeout;
        for (let pause = firstPause; ; pause = Math.min(2 * pause, longestPause)) {
            try {
                return await this.ask(words, Math.max(0, deadline - performance.now()));
            } catch (error) {
                const jittered = pause / 2 + Math.random() * pause;
                if (!mayPass(error) || deadline - performance.now() <= jittered) {
                    throw error;
                }
                await new Promise((resolve) => setTimeout(resolve, jittered));
            }
        }
    }

    /** Whether there can be {@link hold}. */
    get canHold(): boolean { return this.driver.another !== undefined; }

    /**
     * Sends a command that the server holds back, on a connection of its own, which ends with the reply or when the
     * time is over.
     */
    async hold(words: readonly Word[], isOver: Promise<never>): Promise<unknown> {
        const refusal = this.#refusal(), driver = this.driver.another?.(words), call = { isOver: false };
        if (refusal !== undefined || driver === undefined) {
            throw refusal ?? new InvalidError("the driver has one connection, on which no command can be held back");
        }
        try {
            return await Promise.race([driver.send(words, call), isOver]);
        } finally {
            call.isOver = true;
            driver.close();
        }
    }

    close(): void {
        this.#closed = true;
        this.breaker.close();
        this.driver.close();
    }

    /** Calls answered or failed, one of them and once. A reply that has arrived counts although the event loop was too busy to read it in time. */
    #send(words: readonly Word[], timeout: number, now: number, answered: (reply: unknown) => void, failed: (error: StintError) => void): void {
        const call: { isOver: boolean; overdue?: () => void } = { isOver: false };
        const forgetDeadline = this.#deadlines.set(timeout, now, () => {
            setImmediate(() => { // behind the replies that wait to be read
                if (!call.isOver) {
                    call.isOver = true;
                    call.overdue?.();
                    failed(new UnavailableError("timeout", `no reply within ${timeout} ms; the tokens may have been taken`));
                }
            });
        });
        const isFirst = (): boolean => {
            const is = !call.isOver;
            call.isOver = true;
            forgetDeadline();
            return is;
        };
        this.driver.send(words, call).then(
            (reply) => { if (isFirst()) { answered(reply); } },
            (error: unknown) => { if (isFirst()) { failed(error instanceof StintError ? error : new RefusedError(String(error))); } },
        );
    }

    #probe(): Promise<boolean> {
        return new Promise((resolve) => {
            this.#send(["PING"], this.#patience, performance.now(), () => { resolve(true); }, (error) => {
                if (isSilence(error)) {
                    this.driver.renew?.(this.#patience); // the connection may have died without a sign
                }
                resolve(!isSilence(error));
            });
        });
    }
}

/** Whether the connection or the server failed to answer; an error reply is an answer. */
function isSilence(error: unknown): boolean {
    return error instanceof UnavailableError && ["timeout", "not-sent", "connection"].includes(error.reason);
}

/** Whether another attempt may not meet the failure. */
function mayPass(error: unknown): boolean {
    return error instanceof UnavailableError && error.reason !== "circuit-open" && error.reason !== "overloaded" && !/^(OOM|LIMITED) /.test(error.message);
}

/** Whether an error concerns Stint or the connection and not the request: the fallback decides. */
export function isUndecided(error: unknown): error is StintError {
    return error instanceof UnavailableError || error instanceof UnauthenticatedError;
}
