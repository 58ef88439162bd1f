import { UnavailableError } from "../errors.js";
import { Limiter } from "../limiter.js";
import { type LimiterOptions, limiterOptions } from "../limiter-options.js";
import { type Known, mustKnow } from "../options.js";
import { failOpen } from "../policy.js";
import type { Clock } from "./clock.js";
import { FakeServer } from "./fake-server.js";

/** The options of a {@link FakeLimiter}: those of a limiter, with other defaults. */
export interface FakeLimiterOptions extends Partial<LimiterOptions> {
    /** The server that it asks; a new one by default. Limiters with the same server share keys, policies and the clock. */
    server?: FakeServer;
}

const fakeOptions = { server: true, ...limiterOptions } satisfies Known<FakeLimiterOptions>;

/**
 * A limiter for tests of programs: the same decisions as a server's, in memory, by a clock that the test sets. It is `failOpen()` unless
 * an option says otherwise, and its circuit breaker never opens unless it has options. `wait` sets the clock ahead in place of waiting.
 */
export class FakeLimiter extends Limiter {
    readonly server: FakeServer;

    constructor(given: FakeLimiterOptions = {}) {
        mustKnow(given, fakeOptions, "a fake limiter");
        const { server = new FakeServer(), ...options } = given;
        const { clock } = server;
        const driver = {
            send: (words: Parameters<FakeServer["execute"]>[0]): Promise<unknown> => new Promise((resolve) => {
                if (server.isDown) {
                    throw new UnavailableError("not-sent", "the test set the fake server down");
                }
                resolve(server.execute(words));
            }),
            close: (): void => undefined,
            time: {
                now: (): number => clock.now,
                sleep: (ms: number, ...signals: (AbortSignal | undefined)[]): Promise<void> => {
                    signals.forEach((signal) => { signal?.throwIfAborted(); });
                    clock.advance(ms);
                    return Promise.resolve();
                },
            },
        };
        super(driver, { whenDown: failOpen(), timeout: "10s", breaker: { failures: Infinity }, ...options });
        this.server = server;
    }

    /** The clock of the server. */
    get clock(): Clock { return this.server.clock; }
}
