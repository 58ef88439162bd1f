import { shown } from "./arguments.js";
import { InvalidError, type StintError } from "./errors.js";
import { type Known, mustKnow } from "./options.js";

const defaultFailures = 5, defaultCoolDown = 250; // milliseconds

/** The settings of a circuit breaker. */
export interface BreakerOptions {
    /** Failures in a row that open it, 5 by default. */
    failures?: number;
    /** Milliseconds before each probe, 250 by default: from half of them to half as many again. */
    coolDown?: number;
}

/** The names of {@link BreakerOptions}. */
const breakerOptions = { failures: true, coolDown: true } satisfies Known<BreakerOptions>;

/** Throws {@link InvalidError} for settings that a program without types got wrong: a breaker that never opens, or probes that never end. */
export function mustBeBreakerOptions(options: BreakerOptions): void {
    mustKnow(options, breakerOptions, "a breaker");
    const failures = options.failures ?? defaultFailures, coolDown = options.coolDown ?? defaultCoolDown;
    if (failures !== Infinity && !(Number.isSafeInteger(failures) && failures >= 1)) {
        throw new InvalidError(`failures: must be an integer above 0, got ${shown(failures)}`);
    }
    if (!Number.isFinite(coolDown) || coolDown < 0) {
        throw new InvalidError(`coolDown: must be a number of milliseconds of at least 0, got ${shown(coolDown)}`);
    }
}

/**
 * Stops requests to a server that does not answer. While it is open, probes run in the background, so that no caller waits. They
 * do not become rarer: a server that is back after a long outage is found as soon as one after a short outage.
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

    constructor(options: BreakerOptions, private readonly probe: () => Promise<boolean>, private readonly changed: (open: boolean, cause?: StintError) => void) {
        this.#failures = options.failures ?? defaultFailures;
        this.#coolDown = options.coolDown ?? defaultCoolDown;
    }

    get isOpen(): boolean { return this.#isOpen; }

    /** Records a reply, also an error reply. */
    succeeded(): void { this.#inRow = 0; }

    /** Records that a request begun at a time of performance.now() was not answered. */
    failed(begun: number, cause: StintError): void {
        if (this.#closed || this.#isOpen || (this.#inRow > 0 && begun < this.#lastFailure)) {
            return;
        }
        this.#lastFailure = performance.now();
        if (++this.#inRow >= this.#failures) {
            this.#isOpen = true;
            this.changed(true, cause);
            this.#schedule();
        }
    }

    close(): void {
        this.#closed = true;
        clearTimeout(this.#timer);
    }

    /** Begins the next probe, so many milliseconds after the beginning of the last one. */
    #schedule(passed = 0): void {
        const jittered = (0.5 + Math.random()) * this.#coolDown; // so that processes do not all probe at once
        this.#timer = setTimeout(() => void this.#tryAgain(), Math.max(0, jittered - passed));
        this.#timer.unref();
    }

    async #tryAgain(): Promise<void> {
        const begun = performance.now();
        const answered = await this.probe();
        if (this.#closed) {
            return;
        }
        if (!answered) {
            this.#schedule(performance.now() - begun);
            return;
        }
        this.#inRow = 0;
        this.#isOpen = false;
        this.changed(false);
    }
}
