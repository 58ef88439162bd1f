package com.stintdb.client;

import com.stintdb.client.internal.Replies;
import org.jspecify.annotations.Nullable;

/**
 * The answer to one request.
 *
 * @param allowed whether to go ahead
 * @param granted tokens taken, 0 when denied
 * @param limit the largest number that can be granted at once
 * @param remaining whole tokens left, 0 when the fallback decided; after {@link Limiter#force} it may be below zero
 * @param retryAfterMs after a denial, milliseconds until the same request would be allowed if nobody else takes tokens, or {@link #NEVER}
 * @param waitMs after a grant, milliseconds to wait before going ahead: a place in a queue, or a reservation
 * @param resetAfterMs milliseconds until the key is at its full limit
 * @param source who decided
 * @param cause why Stint did not decide; null if it did
 * @param warn whether the use of the limit has reached the threshold of its {@link Limit#warn}; of several limits, that of any of them
 * @param needsPayment after a denial, whether waiting does not help: a {@link Limit#balance} lacks credits, and a payment adds them
 */
public record Result(
        boolean allowed, long granted, long limit, long remaining, long retryAfterMs, long waitMs, long resetAfterMs, Source source,
        @Nullable StintException cause, boolean warn, boolean needsPayment) {
    /** The {@link #retryAfterMs} of a request for more tokens than the limit can ever grant. */
    public static final long NEVER = -1;

    /** A result without a warning. */
    public Result(
            boolean allowed, long granted, long limit, long remaining, long retryAfterMs, long waitMs, long resetAfterMs, Source source,
            @Nullable StintException cause) {
        this(allowed, granted, limit, remaining, retryAfterMs, waitMs, resetAfterMs, source, cause, false, false);
    }

    /** The result of the reply of RL.ATMOST: the tokens taken, in place of a grant. */
    static Result ofAtMost(@Nullable Object reply, Limit limit) {
        long[] n = Replies.integers(reply, limit.warns() ? 6 : 5);
        return new Result(true, n[0], n[1], n[2], 0, 0, n[4], Source.SERVER, null, limit.warns() && n[5] == 1, false);
    }

    /** The result of the reply to an acquire. */
    static Result of(@Nullable Object reply, Limit limit, long asked) {
        long[] n = Replies.integers(reply, limit.warns() ? 6 : 5);
        if (limit.algorithm() == Algorithm.GCRA) { // limited, limit, remaining, retry_after_s, reset_after_s
            boolean allowed = n[0] == 0;
            long after = n[3] > 0 ? n[3] * 1000 : n[3];
            return new Result(allowed, allowed ? asked : 0, n[1], n[2], allowed ? 0 : after, 0, n[4] * 1000, Source.SERVER, null);
        }
        boolean allowed = n[0] > 0;
        boolean needsPayment = limit.algorithm() == Algorithm.BALANCE && !allowed && n[3] == NEVER;
        return new Result(
                allowed, n[0], n[1], n[2], allowed ? 0 : n[3], allowed ? n[3] : 0, n[4], Source.SERVER, null, limit.warns() && n[5] == 1, needsPayment);
    }
}
