/** Waits; if one of the signals is aborted meanwhile, it throws the signal's reason. */
export function sleep(ms: number, ...signals: (AbortSignal | undefined)[]): Promise<void> {
    return new Promise((resolve, reject) => {
        const end = (): void => {
            clearTimeout(timer);
            signals.forEach((signal) => { signal?.removeEventListener("abort", end); });
            const aborted = signals.find((signal) => signal?.aborted);
            if (aborted) {
                reject(aborted.reason as Error);
            } else {
                resolve();
            }
        };
        const timer = setTimeout(end, Math.min(ms, 2 ** 31 - 1));
        signals.forEach((signal) => { signal?.addEventListener("abort", end); });
        if (signals.some((signal) => signal?.aborted)) {
            end();
        }
    });
}

/** The time of a limiter. */
export interface Time {
    /** Milliseconds since some moment. */
    now(): number;
    sleep: typeof sleep;
}

/** The time of the machine. */
export const machineTime: Time = { now: () => performance.now(), sleep };
