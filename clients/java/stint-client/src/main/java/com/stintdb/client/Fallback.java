package com.stintdb.client;

import com.stintdb.client.Algorithm.Option;
import com.stintdb.client.LocalShares.Asked;
import com.stintdb.client.spi.Time;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Gives the answers of a policy while Stint does not answer. */
final class Fallback {
    private static final long RETRY_MS = 1000; // a guess

    private final Policy policy;
    private final LocalShares local;

    Fallback(Policy policy, Time time) {
        this.policy = policy;
        this.local = new LocalShares(policy.share(), time);
    }

    /** Answers a request for the first limit, and for its ancestors if there are others. */
    Result one(StintException cause, List<Asked> limits, long tokens, @Nullable Option option) {
        LimitState unknown = new LimitState(limits.get(0).limit().capacity(), 0, 0);
        if (option == Option.FORCE) { // the work has happened already
            return new Result(true, tokens, unknown.limit(), 0, 0, 0, 0, Source.FALLBACK, cause);
        }
        MultiResult several = several(cause, limits, tokens, option == Option.PEEK);
        long left = several.limits().isEmpty() ? 0 : several.limits().get(0).remaining();
        if (option == Option.UPTO && !several.allowed() && left > 0) {
            several = several(cause, limits.stream().map(asked -> new Asked(asked.key(), asked.limit(), left)).toList(), left, false);
        }
        LimitState state = several.limits().isEmpty() ? unknown : several.limits().get(0);
        return new Result(
                several.allowed(), several.granted(), state.limit(), state.remaining(), several.retryAfterMs(), 0, state.resetAfterMs(), several.source(),
                cause);
    }

    /** Answers a request for several limits. */
    MultiResult several(StintException cause, List<Asked> limits, long tokens, boolean isPeek) {
        if (policy.isOpen()) {
            return new MultiResult(true, tokens, -1, 0, 0, List.of(), Source.FALLBACK, cause);
        }
        if (policy.isClosed() || limits.isEmpty()) {
            return new MultiResult(false, 0, -1, RETRY_MS, 0, List.of(), Source.FALLBACK, cause);
        }
        LocalShares.Answer answer = local.take(limits, isPeek);
        return new MultiResult(
                answer.allowed(), answer.allowed() ? tokens : 0, answer.binding(), answer.retryAfterMs(), 0, answer.states(), Source.LOCAL, cause);
    }
}
