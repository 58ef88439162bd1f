const mostCallers = 10_000;
const lastStreams = 8;
const mostSteps = 16;

/**
 * What the last streams of each caller used, in this process: the measure of the tokens that the next one reserves
 * first.
 */
export class Estimates {
    readonly #callers = new Map<string, number[]>(); // the caller whose stream ended longest ago is the first

    /** The mean of the last eight streams, rounded up, between one step and 16; one step if there were none. */
    of(caller: string, step: number): number {
        const last = this.#callers.get(caller) ?? [step];
        const mean = Math.ceil(last.reduce((sum, tokens) => sum + tokens, 0) / last.length);
        return Math.min(Math.max(mean, step), mostSteps * step);
    }

    /** Notes what a stream used. */
    add(caller: string, tokens: number): void {
        const last = this.#callers.get(caller) ?? [];
        this.#callers.delete(caller);
        if (this.#callers.size >= mostCallers) {
            this.#callers.delete(this.#callers.keys().next().value ?? "");
        }
        this.#callers.set(caller, [...last.slice(1 - lastStreams), tokens]);
    }
}
