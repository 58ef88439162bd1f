package com.stintdb.test;

import java.math.BigInteger;
import org.jspecify.annotations.Nullable;

/** An exact number. */
final class Fraction {
    static final Fraction ZERO = of(0);

    private final BigInteger numerator;
    private final BigInteger denominator; // above 0

    private Fraction(BigInteger numerator, BigInteger denominator) {
        this.numerator = numerator;
        this.denominator = denominator;
    }

    static Fraction of(BigInteger numerator, BigInteger denominator) {
        BigInteger by = numerator.gcd(denominator).multiply(BigInteger.valueOf(denominator.signum()));
        return new Fraction(numerator.divide(by), denominator.divide(by));
    }

    static Fraction of(BigInteger integer) {
        return new Fraction(integer, BigInteger.ONE);
    }

    static Fraction of(long integer) {
        return of(BigInteger.valueOf(integer));
    }

    Fraction plus(Fraction other) {
        return of(numerator.multiply(other.denominator).add(other.numerator.multiply(denominator)), denominator.multiply(other.denominator));
    }

    Fraction minus(Fraction other) {
        return plus(new Fraction(other.numerator.negate(), other.denominator));
    }

    Fraction times(Fraction other) {
        return of(numerator.multiply(other.numerator), denominator.multiply(other.denominator));
    }

    Fraction times(BigInteger factor) {
        return times(of(factor));
    }

    Fraction over(Fraction other) {
        return of(numerator.multiply(other.denominator), denominator.multiply(other.numerator));
    }

    int sign() {
        return numerator.signum();
    }

    boolean isAbove(Fraction other) {
        return minus(other).sign() > 0;
    }

    /** The largest integer that is not above this. */
    BigInteger floor() {
        BigInteger[] parts = numerator.divideAndRemainder(denominator);
        return parts[1].signum() < 0 ? parts[0].subtract(BigInteger.ONE) : parts[0];
    }

    /** The smallest integer that is not below this. */
    BigInteger ceil() {
        return of(numerator.negate(), denominator).floor().negate();
    }

    /** The larger of two. */
    static Fraction later(Fraction a, Fraction b) {
        return a.isAbove(b) ? a : b;
    }

    /** Whether a time is longer than another; null is never. */
    static boolean isLonger(@Nullable Fraction a, @Nullable Fraction b) {
        return b != null && (a == null || a.isAbove(b));
    }
}
