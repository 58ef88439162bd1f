/** The settings of a circuit breaker. */
export interface BreakerOptions {
    /** Failures in a row that open it, 5 by default. */
    failures?: number;
    /** Milliseconds before its first probe, 250 by default. Every failed probe doubles them, up to 10 s. */
    coolDown?: number;
}

const longestCoolDown = 10_000;

/**
 * Stops requests to a server that does not answer. While it is open, probes run in the background, so that no caller waits.
 * Failures that overlap in time count once: requests in flight when a failure was counted do not count again.
 */
export class Breaker {
    #inRow = 0;
    #lastFailure = 0;
    #timer: NodeJS.Timeout | undefined;
    #closed = false;
    #isOpen = false;

    readonly #failures: number;
    readonly #coolDown: number;

    constructor(options: BreakerOptions, private readonly probe: () => Promise<boolean>, private readonly changed: (open: boolean) => void) {
        this.#failures = options.failures ?? 5;
        this.#coolDown = options.coolDown ?? 250;
    }

    get isOpen(): boolean { return this.#isOpen; }

    /** Records a reply, also an error reply. */
    succeeded(): void { this.#inRow = 0; }

    /** Records that a request begun at a time of performance.now() was not answered. */
    failed(begun: number): void {
        if (this.#closed || this.#isOpen || (this.#inRow > 0 && begun < this.#lastFailure)) {
            return;
        }
        this.#lastFailure = performance.now();
        if (++this.#inRow >= this.#failures) {
            this.#isOpen = true;
            this.changed(true);
            this.#schedule(this.#coolDown);
        }
    }

    close(): void {
        this.#closed = true;
        clearTimeout(this.#timer);
    }

    #schedule(delay: number): void {
        const jittered = delay / 2 + Math.random() * delay; // so that processes do not all probe at once
        this.#timer = setTimeout(() => void this.#tryAgain(delay), jittered);
        this.#timer.unref();
    }

    async #tryAgain(delay: number): Promise<void> {
        const answered = await this.probe();
        if (this.#closed) {
            return;
        }
        if (!answered) {
            this.#schedule(Math.min(2 * delay, longestCoolDown));
            return;
        }
        this.#inRow = 0;
        this.#isOpen = false;
        this.changed(false);
    }
}
