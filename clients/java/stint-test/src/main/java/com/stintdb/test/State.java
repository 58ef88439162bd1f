package com.stintdb.test;

import java.math.BigInteger;
import java.util.Map;

/** The state of a limiter. Times are in nanoseconds since 1970. */
sealed interface State {
    /** Token buckets: the time at which all tokens are back. */
    record Bucket(Fraction full) implements State {}

    /** Fixed windows: the end of the present one, and the tokens taken in it. */
    record Window(BigInteger end, BigInteger taken) implements State {}

    /** Concurrency: the holders, and the ends of their places. */
    record Places(Map<String, BigInteger> ends) implements State {}
}
