package com.stintdb.client;

import com.stintdb.client.internal.Rates;
import java.time.Duration;
import java.util.Collections;
import java.util.SortedMap;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** The parts of a request to {@link Limiter#all} and {@link Limiter#check}. It never changes: each method returns another request. */
public final class Request {
    /** What the reply shows besides the usual. */
    enum Show {
        NOTHING,
        WARN,
        SPLIT
    }

    private static final Request ONE = new Request(1, null, 0, null, 0, false, Show.NOTHING, Collections.emptySortedMap());

    final long tokens;
    final @Nullable Keep keep;
    /** Milliseconds; 0 if grants are not reserved. */
    final long maxWaitMs;
    final @Nullable Key id;
    final long rememberMs;
    final boolean isPeek;
    final Show show;
    final SortedMap<String, Key> fields;

    private Request(
            long tokens, @Nullable Keep keep, long maxWaitMs, @Nullable Key id, long rememberMs, boolean isPeek, Show show,
            SortedMap<String, Key> fields) {
        this.tokens = tokens;
        this.keep = keep;
        this.maxWaitMs = maxWaitMs;
        this.id = id;
        this.rememberMs = rememberMs;
        this.isPeek = isPeek;
        this.show = show;
        this.fields = fields;
        if (keep != null && maxWaitMs > 0) {
            throw new InvalidException("a request has keep or maxWait, not both");
        }
    }

    /** A request for one token of each limit. */
    public static Request one() {
        return ONE;
    }

    /** A request for so many tokens of each limit without a cost. It throws {@link InvalidException} below 1. */
    public static Request of(long tokens) {
        return new Request(Rates.count(tokens, "tokens", 1), null, 0, null, 0, false, Show.NOTHING, Collections.emptySortedMap());
    }

    /** The same request for so many tokens. */
    Request tokens(long tokens) {
        return new Request(Rates.count(tokens, "tokens", 1), keep, maxWaitMs, id, rememberMs, isPeek, show, fields);
    }

    /** The tokens of each limit without a cost. */
    public long tokens() {
        return tokens;
    }

    /** Granted only if so much remains of each limit. */
    public Request keep(Keep keep) {
        return new Request(tokens, keep, maxWaitMs, id, rememberMs, isPeek, show, fields);
    }

    /** Grants may be reserved this far ahead: wait for the result's {@link MultiResult#waitMs} before acting. */
    public Request maxWait(Duration ahead) {
        return new Request(tokens, keep, Rates.milliseconds(ahead, "maxWait"), id, rememberMs, isPeek, show, fields);
    }

    /**
     * The key under which the server remembers a grant for a time, so that the request can be sent again, and settled. It is sent again until the timeout
     * if the reply is lost; the server takes its tokens once.
     */
    public Request id(String id, Duration remember) {
        return id(Key.of(id), remember);
    }

    /** An id of any bytes: see {@link #id(String, Duration)}. */
    public Request id(Key id, Duration remember) {
        if (id.sent().length == 0) {
            throw new InvalidException("id: must not be empty: all requests with it would be one");
        }
        return new Request(tokens, keep, maxWaitMs, id, Rates.milliseconds(remember, "remember"), isPeek, show, fields);
    }

    /** Answers alike, and takes nothing. */
    public Request peek() {
        return new Request(tokens, keep, maxWaitMs, id, rememberMs, true, show, fields);
    }

    /** Has {@link LimitState#warn} set for the limits of a policy that warn. It is for {@link Limiter#check}; {@link Limiter#all} needs none. */
    public Request showWarn() {
        return new Request(tokens, keep, maxWaitMs, id, rememberMs, isPeek, Show.WARN, fields);
    }

    /**
     * Has {@link LimitState#granted} set if the last limit is a {@link Limit#balance}, {@link MultiResult#needsPayment} of a policy, and what
     * {@link #showWarn} sets.
     */
    public Request split() {
        return new Request(tokens, keep, maxWaitMs, id, rememberMs, isPeek, Show.SPLIT, fields);
    }

    /** The value of a {name} in the keys of a policy, such as a tenant. It is for {@link Limiter#check}. */
    public Request field(String name, String value) {
        return field(name, Key.of(value));
    }

    /** The same request with another value for its fields that are empty, which policies refuse. */
    public Request fieldsOr(String value) {
        SortedMap<String, Key> all = new TreeMap<>(fields);
        all.replaceAll((name, given) -> given.sent().length == 0 ? Key.of(value) : given);
        return new Request(tokens, keep, maxWaitMs, id, rememberMs, isPeek, show, all);
    }

    /** The value of a {name}, of any bytes: see {@link #field(String, String)}. */
    public Request field(String name, Key value) {
        SortedMap<String, Key> all = new TreeMap<>(fields);
        all.put(name, value);
        return new Request(tokens, keep, maxWaitMs, id, rememberMs, isPeek, show, all);
    }
}
