package com.stintdb.client;

import com.stintdb.client.internal.Rates;
import org.jspecify.annotations.Nullable;

/** A limit of a key, as one of several for {@link Limiter#all}, or as an ancestor of a {@link TreeClass}. */
public final class Keyed {
    final Key key;
    final Limit limit;
    final @Nullable Long cost;
    final @Nullable Keep keep;

    private Keyed(Key key, Limit limit, @Nullable Long cost, @Nullable Keep keep) {
        this.key = key;
        this.limit = limit;
        this.cost = cost;
        this.keep = keep;
    }

    /** A limit of a key. */
    public static Keyed of(String key, Limit limit) {
        return of(Key.of(key), limit);
    }

    /** A limit of a key. */
    public static Keyed of(Key key, Limit limit) {
        return new Keyed(key, limit, null, null);
    }

    /** Its limit. */
    public Limit limit() {
        return limit;
    }

    /** With its own number of tokens, in place of the request's; 0 only reports its state. It throws {@link InvalidException} below 0. */
    public Keyed cost(long tokens) {
        return new Keyed(key, limit, Rates.count(tokens, "cost", 0), keep);
    }

    /** Granted only if so much of it remains. */
    public Keyed keep(Keep keep) {
        return new Keyed(key, limit, cost, keep);
    }
}
