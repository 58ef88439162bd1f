package com.stintdb.client;

import com.stintdb.client.internal.Replies;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The answer to a request that several limits had to allow.
 *
 * @param allowed whether to go ahead
 * @param granted tokens taken, 0 when denied
 * @param binding the position of the limit that denied, or -1; for a policy in shadow mode, of the one that would have denied
 * @param retryAfterMs after a denial, milliseconds until the same request would be allowed, or {@link Result#NEVER}
 * @param waitMs after a grant, milliseconds to wait before going ahead
 * @param limits the state of each limit in the order given; empty when the fallback decided
 * @param source who decided
 * @param cause why Stint did not decide; null if it did
 */
public record MultiResult(
        boolean allowed, long granted, int binding, long retryAfterMs, long waitMs, List<LimitState> limits, Source source,
        @Nullable StintException cause) {
    /** The result of the reply of RL.ALL and RL.CHECK. */
    static MultiResult of(@Nullable Object reply) {
        return of(reply, 4);
    }

    /**
     * Reads the reply of RL.EXTEND, whose fifth element is the number of tokens granted to the request and all its
     * extensions. Returns null if the server does not know the request.
     */
    static @Nullable MultiResult ofExtension(@Nullable Object reply) {
        return reply == null ? null : of(reply, 5);
    }

    private static MultiResult of(@Nullable Object reply, int size) {
        List<@Nullable Object> parts = Replies.list(reply, size);
        long granted = Replies.integer(parts.get(0), reply);
        long wait = Replies.integer(parts.get(2), reply);
        List<LimitState> limits = new ArrayList<>();
        for (Object each : Replies.list(parts.get(3), -1)) {
            boolean warns = each instanceof List<?> state && state.size() == 4;
            long[] n = Replies.integers(each, warns ? 4 : 3);
            limits.add(new LimitState(n[0], n[1], n[2], warns && n[3] == 1));
        }
        boolean allowed = granted > 0;
        return new MultiResult(
                allowed, granted, (int) Replies.integer(parts.get(1), reply), allowed ? 0 : wait, allowed ? wait : 0, List.copyOf(limits),
                Source.SERVER, null);
    }

    /** The answer of the limit that denied, or of the one with the smallest remaining fraction: for the fields of a response. */
    public Result tightest() {
        LimitState tightest = new LimitState(0, 0, 0);
        if (!allowed && binding >= 0 && binding < limits.size()) {
            tightest = limits.get(binding);
        } else {
            for (int i = 0; i < limits.size(); i++) {
                tightest = i == 0 || fraction(limits.get(i)) < fraction(tightest) ? limits.get(i) : tightest;
            }
        }
        return new Result(
                allowed, granted, tightest.limit(), tightest.remaining(), retryAfterMs, waitMs, tightest.resetAfterMs(), source, cause,
                limits.stream().anyMatch(LimitState::warn));
    }

    private static double fraction(LimitState state) {
        return state.limit() == 0 ? 0 : (double) state.remaining() / state.limit();
    }
}
