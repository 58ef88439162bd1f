import type { Option } from "./algorithms.js";
import type { StintError } from "./errors.js";
import { type Asked, LocalShares } from "./local.js";
import type { Policy } from "./policy.js";
import type { Time } from "./time.js";
import type { MultiResult, Result } from "./result.js";

const retryWhenDown = 1000; // milliseconds, a guess

/** Gives the answers of a policy while Stint does not answer. */
export class Fallback {
    readonly #local: LocalShares | undefined;

    constructor(private readonly policy: Policy, time: Time) {
        this.#local = policy.kind === "share" ? new LocalShares(policy.share, time) : undefined;
    }

    /** Answers a request for the first limit, and for its ancestors if there are others. */
    one(cause: StintError, limits: readonly Asked[], tokens: number, option?: Option): Result {
        const unknown = { limit: limits[0]?.limit.capacity ?? 0, remaining: 0, resetAfter: 0 };
        if (option === "FORCE") { // the work has happened already
            return { allowed: true, granted: tokens, ...unknown, retryAfter: 0, wait: 0, source: "fallback", cause };
        }
        let several = this.several(cause, limits, tokens, option === "PEEK");
        const left = several.limits[0]?.remaining ?? 0;
        if (option === "UPTO" && several.source === "local" && !several.allowed && left > 0) {
            several = this.several(cause, limits.map((asked) => ({ ...asked, tokens: left })), left);
        }
        const { allowed, granted, retryAfter, source } = several;
        return { allowed, granted, ...(several.limits[0] ?? unknown), retryAfter, wait: 0, source, cause };
    }

    /** Answers a request for several limits. */
    several(cause: StintError, limits: readonly Asked[], tokens: number, isPeek = false): MultiResult {
        const denied: MultiResult = { allowed: false, granted: 0, binding: -1, retryAfter: retryWhenDown, wait: 0, limits: [], source: "fallback", cause };
        if (this.policy.kind === "open") {
            return { ...denied, allowed: true, granted: tokens, retryAfter: 0 };
        }
        if (!this.#local || limits.length === 0) {
            return denied;
        }
        const { allowed, binding, retryAfter, states } = this.#local.take(limits, !isPeek);
        return { ...denied, allowed, granted: allowed ? tokens : 0, binding, retryAfter, limits: states, source: "local" };
    }
}
