package com.stintdb.client;

import com.stintdb.client.internal.Rates;
import org.jspecify.annotations.Nullable;

/** A limit of a key, as one of several for {@link Limiter#all}, or as an ancestor of a {@link TreeClass}. */
public final class Keyed {
    final Key key;
    final Limit limit;
    final @Nullable Long cost;
    final @Nullable Keep keep;
    final boolean isElse;

    private Keyed(Key key, Limit limit, @Nullable Long cost, @Nullable Keep keep, boolean isElse) {
        this.key = key;
        this.limit = limit;
        this.cost = cost;
        this.keep = keep;
        this.isElse = isElse;
    }

    /** A limit of a key. */
    public static Keyed of(String key, Limit limit) {
        return of(Key.of(key), limit);
    }

    /** A limit of a key. */
    public static Keyed of(Key key, Limit limit) {
        return new Keyed(key, limit, null, null, false);
    }

    /** Its limit. */
    public Limit limit() {
        return limit;
    }

    /** With its own number of tokens, in place of the request's; 0 only reports its state. It throws {@link InvalidException} below 0. */
    public Keyed cost(long tokens) {
        return new Keyed(key, limit, Rates.count(tokens, "cost", 0), keep, isElse);
    }

    /** Granted only if so much of it remains. */
    public Keyed keep(Keep keep) {
        return new Keyed(key, limit, cost, keep, isElse);
    }

    /** The last limit, a {@link Limit#balance}: it gives what the limits before it cannot give of the cost, or all of it. */
    public Keyed orElse() {
        if (limit.algorithm() != Algorithm.BALANCE) {
            throw new InvalidException("orElse: is for a balance, got " + limit);
        }
        return new Keyed(key, limit, cost, keep, true);
    }

    /** The number asked of it by a request for so many tokens. What the limits before orElse lack is not known. */
    long tokens(long n) {
        return isElse ? 0 : cost != null ? cost : n;
    }
}
