import type { Word } from "../driver.js";
import { UnavailableError } from "../errors.js";
import type { Limit } from "../limit.js";
import { integers, unknownForm } from "../result.js";

// Times of a loan, in milliseconds.
export const loanFor = 10_000; // after an operation, the server counts all of the loan as spent
export const spendFor = loanFor / 2; // tokens are spent for this time, by this process's clocks
export const renewAfter = spendFor / 2; // a loan in use is renewed

/** How often a return is sent again whose answer was lost. */
const mostRepeats = 3;

/**
 * A reading of two clocks, in milliseconds: the monotonic one, which stands still while the machine sleeps, and the time of day, which may be
 * set. Somebody who sets the time of day back while the machine sleeps hides the sleep.
 */
export interface Moment { monotonic: number; day: number }

/**
 * Reads both clocks. The process may be stopped between the readings: that can only make the age of an operation larger, so tokens are spent too
 * short a time, never too long. The time of day is read last, because it also shows a sleep between the readings.
 */
export function now(): Moment { return { monotonic: performance.now(), day: Date.now() }; }

/** An operation on a loan. */
export interface Operation {
    words: Word[];
    number: number;
    previous: number;
    isReturn: boolean;
    sentAt: Moment;
}

/** The server's answer to an operation. */
export interface LoanAnswer {
    /** Granted or returned. */
    granted: number;
    /** For everybody else. */
    remaining: number;
    /** Whether the server has named another last operation: the same may be asked again. */
    isIgnored: boolean;
}

/**
 * The tokens of a loan, by RL.LEND, where they are spent. The server counts all of them as taken until the holder states how many it has not spent, so the limiter and the holders never grant more than the limit together, in spite of refunds, deletions
 * and other rates meanwhile. A loan whose holder is silent ends by itself and counts as spent then. The holder stops spending long before,
 * so no token is spent later than it counts.
 *
 * Operations follow one another: {@link hear} takes the answer of one before the next is made. The server ignores an operation whose previous
 * number is not that of the last one it carried out. So an answer that was lost costs tokens, but no token is there twice.
 */
export class Purse {
    #tokens = 0; // not spent
    #since: Moment | undefined; // when the last operation was sent that the server is known to have carried out
    #number = 0; // of the last operation that was sent
    #known = 0; // of the last operation that the server has named; 0 if there is no loan
    #supplied = 0; // tokens that were spent, and those that are left
    #unheard: Operation | undefined; // a return without an answer
    #repeats = 0; // of that return

    constructor(private readonly holder: string, private readonly spendsFor = spendFor) {}

    /** Tokens that are not spent. */
    get tokens(): number { return this.#tokens; }

    /** Tokens spent since the beginning. */
    get spent(): number { return this.#supplied - this.#tokens; }

    /** Whether the server may hold tokens for this loan. */
    get isOpen(): boolean { return this.#known !== 0; }

    /** Whether a return has had no answer. */
    get hasUnheard(): boolean { return this.#unheard !== undefined; }

    /** The age of the last operation in milliseconds, by the clock that shows more. */
    age(now: Moment): number {
        return this.#since === undefined ? Infinity : Math.max(now.monotonic - this.#since.monotonic, now.day - this.#since.day);
    }

    /** Whether tokens may be spent. */
    isValid(now: Moment): boolean { return this.age(now) < this.spendsFor; }

    /** Takes n tokens if there are as many. */
    spend(now: Moment, n: number): boolean {
        if (this.#tokens < n || !this.isValid(now)) {
            return false;
        }
        this.#tokens -= n;
        return true;
    }

    /** The operation that asks for more tokens, and renews the loan. */
    lend(now: Moment, key: Word, limit: Limit, tokens: number): Operation {
        if (!this.isValid(now)) {
            this.#drop();
        }
        this.#unheard = undefined; // it is too late
        const op = this.#operation(now, false);
        op.words = ["RL.LEND", key, limit.row.spec, ...limit.words, tokens, this.holder, op.number, op.previous, "LEFT", this.#tokens, "FOR", `${loanFor}ms`, ...limit.countedWords];
        return op;
    }

    /** The operation that ends the loan, or the last one again if its answer was lost: the server carries it out once. */
    giveBack(now: Moment, key: Word): Operation {
        if (this.#unheard !== undefined && this.#repeats < mostRepeats) {
            this.#repeats++;
            return this.#unheard;
        }
        if (!this.isValid(now)) {
            this.#drop();
        }
        const op = this.#operation(now, true);
        op.words = ["RL.RETURN", key, this.holder, op.number, op.previous, this.#drop()];
        this.#unheard = op;
        this.#repeats = 0;
        return op;
    }

    #operation(now: Moment, isReturn: boolean): Operation {
        return { words: [], number: ++this.#number, previous: this.#known, isReturn, sentAt: now };
    }

    /** Forgets the tokens, which the server counts as spent unless they are stated. */
    #drop(): number {
        const dropped = this.#tokens;
        this.#tokens = 0;
        this.#supplied -= dropped;
        return dropped;
    }

    /** Takes the answer to the last operation. Answers to operations that were given up must not be heard. */
    hear(op: Operation, reply: unknown): LoanAnswer {
        this.#unheard = undefined;
        const [granted = 0, , remaining = 0, , number = 0] = integers(reply, 5);
        if (granted < 0 || (granted > 0 && !op.isReturn && number !== op.number)) {
            throw unknownForm(reply);
        }
        this.#known = number;
        if (op.isReturn) {
            return { granted, remaining, isIgnored: false };
        }
        if (number === op.number) {
            this.#since = op.sentAt;
            this.#supplied += granted;
            this.#tokens += granted;
            return { granted, remaining, isIgnored: false };
        }
        if (number < op.previous) { // the loan was ended
            this.#drop();
        }
        return { granted, remaining, isIgnored: op.previous !== number };
    }

    /** Takes the failure of the last operation. */
    hearFailure(error: unknown): void {
        if (!(error instanceof UnavailableError)) {
            this.#unheard = undefined;
        }
        if (error instanceof Error && error.message.includes("ERR the holder states more tokens than")) {
            this.#drop();
        }
    }
}
