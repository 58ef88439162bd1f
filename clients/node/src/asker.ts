import { Breaker, type BreakerOptions } from "./breaker.js";
import type { Driver, Word } from "./driver.js";
import { ClosedError, RefusedError, StintError, UnauthenticatedError, UnavailableError } from "./errors.js";

/** The most commands without a reply. */
const mostWaiting = 20_000;

/** The time that a probe waits for its reply, in milliseconds. */
const probeTimeout = 1000;

const firstPause = 2, longestPause = 100; // milliseconds between two attempts of a command that may be repeated

/** Sends commands within a deadline, unless the breaker is open. */
export class Asker {
    readonly breaker: Breaker;
    #waiting = 0;
    #closed = false;

    constructor(private readonly driver: Driver, options: BreakerOptions, changed: (open: boolean) => void) {
        this.breaker = new Breaker(options, () => this.#probe(), changed);
    }

    /** Sends a command once. It settles within the timeout, whatever the driver does. */
    async ask(words: readonly Word[], timeout: number): Promise<unknown> {
        if (this.#closed) {
            throw new ClosedError("the limiter was closed");
        }
        if (this.breaker.isOpen) {
            throw new UnavailableError("circuit-open", "Stint failed several times in a row and gets no requests until it works again");
        }
        if (this.#waiting >= mostWaiting) {
            throw new UnavailableError("overloaded", `${mostWaiting} requests wait for replies`);
        }
        const begun = performance.now();
        this.#waiting++;
        try {
            const reply = await this.#send(words, timeout);
            this.breaker.succeeded();
            return reply;
        } catch (error) {
            if (isSilence(error)) {
                this.breaker.failed(begun);
            } else {
                this.breaker.succeeded();
            }
            throw error;
        } finally {
            this.#waiting--;
        }
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

    close(): void {
        this.#closed = true;
        this.breaker.close();
        this.driver.close();
    }

    async #send(words: readonly Word[], timeout: number): Promise<unknown> {
        const call = { isOver: false };
        try {
            return await within(this.driver.send(words, call), timeout);
        } finally {
            call.isOver = true;
        }
    }

    async #probe(): Promise<boolean> {
        try {
            await this.#send(["PING"], probeTimeout);
            return true;
        } catch (error) {
            return !isSilence(error);
        }
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

/** Whether an error concerns Stint or the connection and not the request: the policy answers. */
export function isUndecided(error: unknown): error is StintError {
    return error instanceof UnavailableError || error instanceof UnauthenticatedError;
}

/** The outcome of a promise, or a timeout. A reply that has arrived counts although the event loop was too busy to read it in time. */
function within<T>(outcome: Promise<T>, timeout: number): Promise<T> {
    return new Promise((resolve, reject) => {
        const timer = setTimeout(() => {
            setImmediate(() => { // behind the replies that wait to be read
                reject(new UnavailableError("timeout", `no reply within ${timeout} ms; the tokens may have been taken`));
            });
        }, timeout);
        outcome.then(
            (value) => { clearTimeout(timer); resolve(value); },
            (error: unknown) => { clearTimeout(timer); reject(error instanceof StintError ? error : new RefusedError(String(error))); },
        );
    });
}
