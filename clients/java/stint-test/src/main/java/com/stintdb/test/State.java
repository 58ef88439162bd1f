package com.stintdb.test;

import java.math.BigInteger;
import java.util.List;
import java.util.Map;

/** The state of a limiter. Times are in nanoseconds since 1970. */
sealed interface State {
    /** Buckets, queues and GCRA: the time at which all tokens are back. */
    record Meter(Fraction full) implements State {}

    /** Fixed windows: the end of the present one, and the tokens taken in it. */
    record Window(BigInteger end, BigInteger taken) implements State {}

    /** A grant of a sliding log. */
    record Grant(BigInteger at, BigInteger tokens) {}

    /** Sliding logs: the grants, in the order of their times. */
    record Log(List<Grant> grants) implements State {}

    /** Sliding windows: the number of a window, its tokens, and those of the one before. */
    record Counters(BigInteger number, BigInteger current, BigInteger before) implements State {}

    /** Concurrency: the holders, and the ends of their places. */
    record Places(Map<String, BigInteger> ends) implements State {}

    /**
     * Adaptive limits: the time at which all tokens are back at the present rate, and the news since the last change of the rate.
     *
     * @param rate in steps: see {@link AdaptiveLimits}
     * @param since the last change of the rate
     * @param used tokens granted since then
     * @param good whether good calls were reported since then
     * @param bad whether bad calls were reported since then
     * @param fell whether the rate fell then
     * @param pausedUntil the end of a pause
     * @param usedAt the time of the last grant or report
     */
    record Adaptive(
            Fraction full, BigInteger rate, BigInteger since, BigInteger used, boolean good, boolean bad, boolean fell, BigInteger pausedUntil,
            BigInteger usedAt)
            implements State {}
}
