package com.stintdb.test;

import com.stintdb.client.InvalidException;
import java.math.BigInteger;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;

/** A clock that stands still until the test sets it. It is safe for use by many threads. */
public final class FakeClock {
    private Instant now;

    /** A clock that begins at 2000-01-01 00:00 UTC. */
    public FakeClock() {
        this(Instant.parse("2000-01-01T00:00:00Z"));
    }

    /** A clock that begins at a time, in whole milliseconds. */
    public FakeClock(Instant begin) {
        now = whole(begin);
    }

    /** Its time. */
    public synchronized Instant now() {
        return now;
    }

    /** Lets time pass, in whole milliseconds. It throws {@link InvalidException} for less than none. */
    public synchronized void advance(Duration time) {
        set(now.plus(time));
    }

    /** Sets the time, in whole milliseconds. It throws {@link InvalidException} for a time before {@link #now}. */
    public synchronized void set(Instant time) {
        if (time.isBefore(now)) {
            throw new InvalidException("time: the clock does not go back from " + now + ", got " + time);
        }
        now = whole(time);
    }

    /** Nanoseconds since 1970. */
    BigInteger nanos() {
        return BigInteger.valueOf(now().toEpochMilli()).multiply(BigInteger.valueOf(1_000_000));
    }

    private static Instant whole(Instant time) {
        if (!time.equals(time.truncatedTo(ChronoUnit.MILLIS)) || time.isBefore(Instant.EPOCH)) {
            throw new InvalidException("time: must be whole milliseconds since 1970, got " + time);
        }
        return time;
    }
}
