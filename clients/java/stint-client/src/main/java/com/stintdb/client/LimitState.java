package com.stintdb.client;

/**
 * The state of one of several limits.
 *
 * @param limit the largest number that can be granted at once
 * @param remaining whole tokens left
 * @param resetAfterMs milliseconds until the key is at its full limit
 * @param warn whether its use has reached its {@link Limit#warn}; of a policy, only with {@link Request#showWarn}
 */
public record LimitState(long limit, long remaining, long resetAfterMs, boolean warn) {
    /** A state without a warning. */
    public LimitState(long limit, long remaining, long resetAfterMs) {
        this(limit, remaining, resetAfterMs, false);
    }
}
