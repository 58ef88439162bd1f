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
 * @param needsPayment as in {@link Result}; of a policy, it is known only with {@link Request#split}
 */
public record MultiResult(
        boolean allowed, long granted, int binding, long retryAfterMs, long waitMs, List<LimitState> limits, Source source,
        @Nullable StintException cause, boolean needsPayment) {
    /** A result that needs no payment. */
    public MultiResult(
            boolean allowed, long granted, int binding, long retryAfterMs, long waitMs, List<LimitState> limits, Source source,
            @Nullable StintException cause) {
        this(allowed, granted, binding, retryAfterMs, waitMs, limits, source, cause, false);
    }

    /** The result of the reply of RL.ALL and RL.CHECK. Bought says that the last limit is known to be a balance; a reply with SPLIT shows it. */
    static MultiResult of(@Nullable Object reply, boolean bought) {
        return of(reply, 4, bought);
    }

    /**
     * Reads the reply of RL.EXTEND, whose fifth element is the number of tokens granted to the request and all its
     * extensions. Returns null if the server does not know the request.
     */
    static @Nullable MultiResult ofExtension(@Nullable Object reply, boolean bought) {
        return reply == null ? null : of(reply, 5, bought);
    }

    private static MultiResult of(@Nullable Object reply, int size, boolean bought) {
        List<@Nullable Object> parts = Replies.list(reply, size);
        long granted = Replies.integer(parts.get(0), reply);
        long wait = Replies.integer(parts.get(2), reply);
        List<LimitState> limits = new ArrayList<>();
        boolean endsWithBalance = bought;
        for (Object each : Replies.list(parts.get(3), -1)) {
            long[] n = Replies.integers(each, each instanceof List<?> state ? Math.min(Math.max(3, state.size()), 5) : 3);
            limits.add(new LimitState(n[0], n[1], n[2], n.length > 3 && n[3] == 1, n.length > 4 ? n[4] : 0));
            endsWithBalance = bought || n.length > 4;
        }
        boolean allowed = granted > 0;
        int binding = (int) Replies.integer(parts.get(1), reply);
        boolean needsPayment = endsWithBalance && !allowed && wait == Result.NEVER && binding == limits.size() - 1;
        return new MultiResult(
                allowed, granted, binding, allowed ? 0 : wait, allowed ? wait : 0, List.copyOf(limits), Source.SERVER, null, needsPayment);
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
                limits.stream().anyMatch(LimitState::warn), needsPayment);
    }

    private static double fraction(LimitState state) {
        return state.limit() == 0 ? 0 : (double) state.remaining() / state.limit();
    }
}
