package com.stintdb.test;

import java.math.BigInteger;
import java.util.Map;
import java.util.SortedMap;
import org.jspecify.annotations.Nullable;

/** The state of a limiter. Times are in nanoseconds since 1970. */
sealed interface State {
    /** Token buckets: the time at which all tokens are back. */
    record Bucket(Fraction full) implements State {}

    /** Fixed windows: the end of the present one, the tokens taken in it, and the last one before it with usage. */
    record Window(BigInteger end, BigInteger taken, @Nullable Closed before) implements State {}

    /** A window that is over: its end, and the tokens that it had left. */
    record Closed(BigInteger end, BigInteger left) {}

    /** Sliding windows in segments: the tokens taken in each, by its number since 1970. */
    record Segments(SortedMap<BigInteger, BigInteger> counts) implements State {}

    /** Balances. */
    record Credits(BigInteger added, BigInteger spent) implements State {}

    /** Concurrency: the holders, and the ends of their places. */
    record Places(Map<String, BigInteger> ends) implements State {}
}
