import { InvalidError } from "../errors.js";
import { type Duration, milliseconds } from "../rates.js";

/** A clock that stands still until the test sets it. */
export class Clock {
    #now: number;

    /** A clock that begins at a time, 2000-01-01 00:00 UTC by default. */
    constructor(begin: Date | number = Date.UTC(2000, 0)) { this.#now = wholeTime(begin); }

    /** Milliseconds since 1970. */
    get now(): number { return this.#now; }

    /** Lets time pass. */
    advance(time: Duration): void { this.#now += time === 0 ? 0 : milliseconds(time, "time"); }

    /** Sets the time. It throws {@link InvalidError} for a time before {@link now}. */
    set(time: Date | number): void {
        const next = wholeTime(time);
        if (next < this.#now) {
            throw new InvalidError(`time: the clock does not go back from ${new Date(this.#now).toISOString()}, got ${new Date(next).toISOString()}`);
        }
        this.#now = next;
    }
}

function wholeTime(time: Date | number): number {
    const ms = Number(time);
    if (!Number.isSafeInteger(ms) || ms < 0 || ms > 8.64e15) {
        throw new InvalidError(`time: must be a date, or whole milliseconds since 1970, got ${String(time)}`);
    }
    return ms;
}
