package com.stintdb.test;

import com.stintdb.client.internal.Replies;
import com.stintdb.test.Decision.Ask;
import com.stintdb.test.State.Bucket;
import com.stintdb.test.State.Window;
import java.math.BigInteger;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The limiters of a server in memory, by their keys. */
final class Store {
    /** The limiter of a key. */
    record Held(FakeLimit limit, State state) {}

    private final Map<String, Held> keys = new HashMap<>();
    private final FakeClock clock;

    Store(FakeClock clock) {
        this.clock = clock;
    }

    /** Nanoseconds since 1970. */
    BigInteger now() {
        return clock.nanos();
    }

    /** The limiter of a key; null if it has none, or is at its full limit. */
    @Nullable Held held(String key) {
        Held held = keys.get(key);
        if (held != null && States.isFull(held.limit, held.state, now())) {
            keys.remove(key);
            return null;
        }
        return held;
    }

    /** Decides, and leaves the state as it is. */
    Decision ask(String key, FakeLimit limit, Ask ask) {
        return States.decide(limit, state(key, limit), now(), ask);
    }

    /** The state of a limit, as the decision on a request that it can never grant. */
    Decision look(String key, FakeLimit limit) {
        return States.look(limit, state(key, limit), now());
    }

    /** Keeps the state of a decision. */
    void keep(String key, FakeLimit limit, @Nullable State state) {
        if (state != null) {
            keys.put(key, new Held(limit, state));
        }
    }

    /** Resets a key. It returns whether there was something to reset. */
    boolean delete(String key) {
        boolean had = held(key) != null;
        keys.remove(key);
        return had;
    }

    /** The state of a key under a limit. The tokens that were taken carry over to another rate. */
    @Nullable State state(String key, FakeLimit limit) {
        Held held = held(key);
        if (held == null) {
            return null;
        }
        if (held.limit.algorithm() != limit.algorithm()) {
            throw Replies.errorOf("WRONGTYPE the key belongs to a limiter of " + held.limit.algorithm().spec() + ", this command needs one of "
                    + limit.algorithm().spec());
        }
        if (held.state instanceof Bucket bucket) {
            Fraction now = Fraction.of(now());
            Fraction taken = bucket.full().minus(now).over(held.limit.interval());
            return new Bucket(now.plus(taken.times(limit.interval())));
        }
        if (held.state instanceof Window window && limit.rollover().signum() == 0) {
            return new Window(window.end(), window.taken(), null);
        }
        return held.state;
    }
}
