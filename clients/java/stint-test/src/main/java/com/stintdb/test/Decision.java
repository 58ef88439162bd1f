package com.stintdb.test;

import java.math.BigInteger;
import org.jspecify.annotations.Nullable;

/**
 * The outcome for one limit, in nanoseconds. The state is kept if the request is granted.
 *
 * @param granted tokens
 * @param limit the limit that the reply states
 * @param remaining tokens
 * @param delay until a denied request would be granted, or until a granted one may go ahead; null is never
 * @param reset until all tokens are back
 * @param state the state afterwards; null is that of a new key
 */
record Decision(BigInteger granted, BigInteger limit, BigInteger remaining, @Nullable Fraction delay, Fraction reset, @Nullable State state) {
    /**
     * Tokens asked of one limit.
     *
     * @param n the number
     * @param option UPTO, FORCE or another option of the command; empty if there is none
     * @param maxWait nanoseconds
     */
    record Ask(BigInteger n, String option, BigInteger maxWait) {
        Ask(BigInteger n) {
            this(n, "", BigInteger.ZERO);
        }

        boolean isForced() {
            return option.equals("FORCE");
        }

        /** The tokens that it is for, where some are left. */
        BigInteger numberOf(BigInteger left) {
            return option.equals("UPTO") ? left.min(n).max(BigInteger.ONE) : n;
        }
    }

    boolean isGranted() {
        return granted.signum() > 0;
    }

    static Decision denied(BigInteger limit, BigInteger remaining, @Nullable Fraction delay, Fraction reset, @Nullable State state) {
        return new Decision(BigInteger.ZERO, limit, remaining, delay, reset, state);
    }
}
