package com.stintdb.client;

import com.stintdb.client.spi.Time;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Buckets of this process, each with a share of a limit, for the time in which Stint does not answer. */
final class LocalShares {
    private static final int MOST_KEYS = 100_000;
    private static final long SWEEP_EVERY = 1_000_000_000; // nanoseconds
    private static final long RETRY_MS = 1000; // without room for a key

    /** What is asked of one limit. */
    record Asked(String key, Limit limit, long tokens) {
        Asked {
            tokens = limit.algorithm() == Algorithm.PENALTY ? 0 : tokens;
        }
    }

    /** A decision about several limits: see {@link MultiResult}. */
    record Answer(boolean allowed, int binding, long retryAfterMs, List<LimitState> states) {}

    private record Id(Limit limit, String key) {}

    private static final class Bucket {
        final double capacity;
        final double perNano;
        double tokens;
        long at;

        Bucket(double capacity, double perNano, long now) {
            this.capacity = capacity;
            this.perNano = perNano;
            this.tokens = capacity;
            this.at = now;
        }

        void refill(long now) {
            tokens = Math.min(capacity, tokens + Math.max(0, now - at) * perNano);
            at = now;
        }

        long msUntil(double wanted) {
            return (long) Math.ceil((wanted - tokens) / perNano / 1e6);
        }
    }

    private final double share;
    private final Time time;
    private final Map<Id, Bucket> buckets = new HashMap<>(); // guarded by this
    private long swept;
    private boolean hasSwept;

    LocalShares(double share, Time time) {
        this.share = share;
        this.time = time;
    }

    /** Takes tokens of all limits, or of none; if it is a peek, it only looks. */
    synchronized Answer take(List<Asked> limits, boolean isPeek) {
        List<@Nullable Bucket> found = new ArrayList<>();
        limits.forEach(asked -> found.add(bucket(asked)));
        int binding = -1;
        long retryAfter = 0;
        for (int i = 0; i < found.size(); i++) {
            long wait = waitFor(found.get(i), limits.get(i).tokens);
            if (wait != 0 && (binding < 0 || isLonger(wait, retryAfter))) {
                binding = i;
                retryAfter = wait;
            }
        }
        List<LimitState> states = new ArrayList<>();
        for (int i = 0; i < found.size(); i++) {
            Bucket bucket = found.get(i);
            if (bucket != null && binding < 0 && !isPeek) {
                bucket.tokens -= limits.get(i).tokens;
            }
            states.add(bucket == null
                    ? new LimitState(0, 0, RETRY_MS)
                    : new LimitState((long) bucket.capacity, (long) Math.floor(bucket.tokens), bucket.msUntil(bucket.capacity)));
        }
        return new Answer(binding < 0, binding, retryAfter, states);
    }

    private @Nullable Bucket bucket(Asked asked) {
        Limit limit = asked.limit.shared();
        long now = time.nanoTime();
        Id id = new Id(limit, asked.key);
        Bucket bucket = buckets.get(id);
        if (bucket == null) {
            if (buckets.size() >= MOST_KEYS && (!hasSwept || now - swept >= SWEEP_EVERY)) {
                hasSwept = true;
                swept = now;
                buckets.values().removeIf(each -> {
                    each.refill(now);
                    return each.tokens >= each.capacity;
                });
            }
            if (buckets.size() >= MOST_KEYS) {
                return null;
            }
            boolean isKnown = limit.algorithm() != Algorithm.BALANCE; // whose credits nobody knows
            double capacity = isKnown ? Math.max(1, Math.floor(limit.capacity() * share)) : 0;
            bucket = new Bucket(capacity, isKnown ? limit.count() * share / (limit.periodMs() * 1e6) : 1, now);
            buckets.put(id, bucket);
        }
        bucket.refill(now);
        return bucket;
    }

    /** Milliseconds until a bucket has so many tokens, 0 if it has them, {@link Result#NEVER} if it never will. */
    private static long waitFor(@Nullable Bucket bucket, long tokens) {
        if (bucket == null) {
            return RETRY_MS;
        }
        if (tokens > bucket.capacity) {
            return Result.NEVER;
        }
        return tokens <= bucket.tokens ? 0 : Math.max(1, bucket.msUntil(tokens));
    }

    private static boolean isLonger(long a, long b) {
        return b != Result.NEVER && (a == Result.NEVER || a > b);
    }
}
