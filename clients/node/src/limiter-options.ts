import { mustBeFunction, mustBeList, mustBeRecord } from "./arguments.js";
import { type BreakerOptions, mustBeBreakerOptions } from "./breaker.js";
import type { StintError, UnauthenticatedError } from "./errors.js";
import { type LimitLike, limitOf } from "./limit.js";
import { type Known, mustKnow } from "./options.js";
import { type Policy, mustBePolicy } from "./policy.js";
import type { Duration } from "./rates.js";

/** The options of a {@link Limiter}. */
export interface LimiterOptions {
    /** The decision while Stint does not answer: {@link failOpen}, {@link failClosed} or {@link localShare}. */
    whenDown: Policy;
    /** The longest time that a call waits for Stint, 20 ms by default. */
    timeout?: Duration;
    /** The longest time that the first calls wait for the connection and its first reply, 1s by default. */
    connectTimeout?: Duration;
    breaker?: BreakerOptions;
    /** Called when the circuit breaker opens, with the cause, or closes. By default, `process.emitWarning` tells both. */
    onBreaker?: (open: boolean, cause?: StintError) => void;
    /** Called when the server refuses the login, at most once in ten seconds. By default it writes to the console. */
    onRefusedLogin?: (error: UnauthenticatedError) => void;
    /** For {@link localShare}: the limits of policies on the server, by the policy's name. */
    assumed?: Record<string, LimitLike[]>;
}

/** The names of {@link LimiterOptions}. */
export const limiterOptions = { whenDown: true, timeout: true, connectTimeout: true, breaker: true, onBreaker: true, onRefusedLogin: true, assumed: true } satisfies Known<LimiterOptions>;

/** Throws {@link InvalidError} for options that a program without types got wrong. */
export function mustBeLimiterOptions(options: LimiterOptions | undefined): void {
    mustKnow(options ?? {}, limiterOptions, "a limiter");
    mustBePolicy(options?.whenDown);
    mustBeBreakerOptions(options?.breaker ?? {});
    mustBeFunction(options?.onBreaker, "onBreaker");
    mustBeFunction(options?.onRefusedLogin, "onRefusedLogin");
    mustBeRecord(options?.assumed, "assumed");
    for (const [policy, limits] of Object.entries(options?.assumed ?? {})) {
        mustBeList(limits, `assumed: the limits of ${policy}`);
        limits.forEach(limitOf);
    }
}
