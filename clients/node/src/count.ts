import { shown } from "./arguments.js";
import { InvalidError } from "./errors.js";

/** The most tokens of a limit, and of a request. */
export const mostTokens = 1_000_000_000_000;

/** A number of tokens, as it is. It throws {@link InvalidError} unless n is an integer from least to {@link mostTokens}. */
export function count(n: number, name: string, least = 1): number {
    if (!Number.isSafeInteger(n) || n < least || n > mostTokens) {
        throw new InvalidError(`${name}: must be an integer between ${least} and ${mostTokens}, got ${shown(n)}`);
    }
    return n;
}
