// A server with one key in exact arithmetic, and an exact limiter beside it that counts every token when it is spent. Times are whole milliseconds.
import { RefusedError } from "../dist/esm/errors.js";

/** The tokens taken of a token bucket or of aligned windows. */
class Counter {
    #fullAt = 0; // of a bucket, in count-ths of a millisecond
    #window = 0; // the number of the window
    #used = 0; // in it

    constructor(limit) { this.limit = limit; }

    taken(now) {
        const { algorithm, count, period } = this.limit;
        if (algorithm === "fixedWindow") {
            const window = Math.floor(now / period);
            if (window !== this.#window) { [this.#window, this.#used] = [window, 0]; }
            return this.#used;
        }
        this.#fullAt = Math.max(this.#fullAt, now * count);
        return Math.ceil((this.#fullAt - now * count) / period);
    }

    take(now, n) {
        const taken = this.taken(now);
        this.#fullAt += n * this.limit.period;
        this.#used = Math.max(0, taken + n);
        this.taken(now);
    }

    /** Gives it another rate with the same period: the usage carries over. */
    turn(now, limit) {
        this.taken(now);
        this.#fullAt = now * limit.count + this.#fullAt - now * this.limit.count;
        this.limit = limit;
    }
}

export class Model {
    #counter;
    #exact;
    #lent = new Map(); // holder: tokens, until, number
    excess = 0; // tokens that the exact limiter would not have granted

    constructor(limit) {
        this.#counter = new Counter(limit);
        this.#exact = new Counter(limit);
    }

    get limit() { return this.#counter.limit; }

    /** The number of the last operation on a holder's loan. */
    numberOf(holder) { return this.#lent.get(holder); }

    /** Counts tokens in the exact limiter. */
    spend(now, n) {
        this.#exact.take(now, n);
        this.excess = Math.max(this.excess, this.#exact.taken(now) - this.limit.capacity);
    }

    /** Ends loans whose time is over. */
    #end(now) {
        for (const [holder, { tokens, until }] of [...this.#lent].sort(([, a], [, b]) => a.until - b.until)) {
            if (until <= now) {
                this.#counter.take(until, tokens);
                this.#lent.delete(holder);
            }
        }
    }

    #available(now) {
        this.#end(now);
        let lent = 0;
        for (const { tokens } of this.#lent.values()) { lent += tokens; }
        return Math.max(0, this.limit.capacity - this.#counter.taken(now) - lent);
    }

    turn(now, limit) {
        this.#end(now);
        this.#counter.turn(now, limit);
        this.#exact.turn(now, limit);
    }

    acquire(now, n) {
        const granted = n > this.#available(now) ? 0 : n;
        this.#counter.take(now, granted);
        this.spend(now, granted);
        return granted;
    }

    giveBack(now, n) {
        this.#end(now);
        this.#counter.take(now, -n);
        this.#exact.take(now, -n);
    }

    reset(now) {
        this.#end(now);
        this.#counter.take(now, -this.#counter.taken(now));
        this.#exact.take(now, -this.#exact.taken(now));
    }

    /** Carries out RL.LEND or RL.RETURN. */
    operate(now, words, limit) {
        this.#end(now);
        const isReturn = words[0] === "RL.RETURN", [holder, number, previous] = words.slice(isReturn ? 2 : 6);
        const stated = words[isReturn ? 5 : 10], held = this.#lent.get(holder) ?? { tokens: 0, number: 0 };
        const answer = (granted, loan) => [granted, this.limit.capacity, this.#available(now), loan.tokens, loan.number];
        if (held.number !== previous) { return answer(0, held); }
        if (stated > held.tokens) { throw new RefusedError(`ERR the holder states more tokens than the ${held.tokens} that are set aside for it`); }
        this.#lent.delete(holder);
        this.#counter.take(now, held.tokens - stated);
        if (isReturn) { return answer(stated, { tokens: 0, number: 0 }); }
        const granted = limit === this.limit ? Math.min(words[5], Math.floor(Math.max(0, this.#available(now) - stated) / 8)) : 0;
        if (stated + granted === 0) { return answer(0, { tokens: 0, number: 0 }); }
        const loan = { tokens: stated + granted, number, until: now + 10_000 };
        this.#lent.set(holder, loan);
        return answer(granted, loan);
    }
}
