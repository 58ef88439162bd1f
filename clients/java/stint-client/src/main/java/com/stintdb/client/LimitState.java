package com.stintdb.client;

/**
 * The state of one of several limits.
 *
 * @param limit the largest number that can be granted at once
 * @param remaining whole tokens left
 * @param resetAfterMs milliseconds until the key is at its full limit
 * @param warn whether its use has reached its {@link Limit#warn}; of a policy, only with {@link Request#showWarn}
 * @param granted the tokens taken from it, where the last limit is a {@link Limit#balance}; only with {@link Request#split}
 */
public record LimitState(long limit, long remaining, long resetAfterMs, boolean warn, long granted) {
    /** A state without a warning. */
    public LimitState(long limit, long remaining, long resetAfterMs) {
        this(limit, remaining, resetAfterMs, false, 0);
    }
}
