import { shown } from "./arguments.js";
import { InvalidError } from "./errors.js";

/** The decision in place of Stint while it does not answer. */
export type Policy = { readonly kind: "open" | "closed" } | { readonly kind: "share"; readonly share: number };

/** Allows everything while Stint does not answer. It is for limits that serve fairness. */
export const failOpen = (): Policy => ({ kind: "open" });

/** Denies everything while Stint does not answer. It is for limits that must never be exceeded. */
export const failClosed = (): Policy => ({ kind: "closed" });

/** Throws {@link InvalidError} for all that is no policy, such as `failOpen` without its brackets in a program without types. */
export function mustBePolicy(policy: unknown): void {
    const kind = (policy as Partial<Policy> | null | undefined)?.kind;
    if (kind !== "open" && kind !== "closed" && kind !== "share") {
        throw new InvalidError(`whenDown: must be failOpen(), failClosed() or localShare(…), got ${shown(policy)}`);
    }
}

/**
 * Gives this process a share of each limit, above 0 and at most 1, while Stint does not answer. Eight processes with 1/8 together keep
 * about the limit. A key's share starts full at its first request after Stint failed. At most 100,000 keys are kept; others are denied.
 */
export function localShare(share: number): Policy {
    if (typeof (share as unknown) !== "number" || !(share > 0 && share <= 1)) {
        throw new InvalidError(`localShare: must be above 0 and at most 1, got ${shown(share)}`);
    }
    return { kind: "share", share };
}
