interface Entry { at: number; expire: () => void; isOver: boolean }

const longestTimer = 2 ** 31 - 1; // milliseconds; a timer of Node.js with more fires at once

/**
 * Deadlines of calls. Those with the usual timeout share one timer: they come in the order in which they were set, so a timer for the
 * first is enough. Each deadline with another timeout has its own timer.
 */
export class Deadlines {
    #entries: Entry[] = [];
    #first = 0; // the entries before it are over
    #timer: NodeJS.Timeout | undefined;

    /** The usual timeout, in milliseconds. */
    constructor(private readonly usual: number) {}

    /**
     * Calls expire once so many milliseconds have passed since now, a time of performance.now(). The value of set forgets the deadline, and its
     * timer.
     */
    set(timeout: number, now: number, expire: () => void): () => void {
        if (timeout !== this.usual) {
            const timer = setTimeout(expire, Math.min(timeout, longestTimer));
            return () => { clearTimeout(timer); };
        }
        const entry = { at: now + timeout, expire, isOver: false };
        this.#entries.push(entry);
        this.#timer ??= this.#fireAfter(timeout);
        this.#timer.ref();
        return () => { this.#forget(entry); };
    }

    #forget(entry: Entry): void {
        entry.isOver = true;
        while (this.#entries[this.#first]?.isOver) {
            this.#first++;
        }
        if (this.#first === this.#entries.length) {
            this.#entries = [];
            this.#first = 0;
            this.#timer?.unref(); // a program may end while nothing waits
        } else if (this.#first > 1000 && this.#first * 2 > this.#entries.length) {
            this.#entries = this.#entries.slice(this.#first);
            this.#first = 0;
        }
    }

    #fireAfter(ms: number): NodeJS.Timeout { return setTimeout(this.#fire, Math.min(ms, longestTimer)); }

    readonly #fire = (): void => {
        this.#timer = undefined;
        const now = performance.now();
        const overdue = this.#entries.slice(this.#first).filter((entry) => !entry.isOver && entry.at <= now);
        for (const entry of overdue) {
            this.#forget(entry);
            entry.expire();
        }
        const next = this.#entries[this.#first];
        if (next !== undefined) {
            this.#timer ??= this.#fireAfter(Math.max(1, next.at - performance.now()));
        }
    };
}
