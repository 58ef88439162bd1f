package com.stintdb.client.internal;

import com.stintdb.client.InvalidException;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.math.MathContext;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Reads rates and durations as the server does. */
public final class Rates {
    /** The most tokens of a limit, and of a request. */
    public static final long MOST_TOKENS = 1_000_000_000_000L;

    private static final long LONGEST_MS = 10L * 365 * 86_400_000;
    private static final BigInteger LONGEST = BigInteger.valueOf(LONGEST_MS).multiply(BigInteger.valueOf(1_000_000));
    private static final BigInteger SHORTEST = BigInteger.valueOf(1_000_000);
    private static final int MOST_CHARACTERS = 1000;
    private static final Pattern DECIMAL = Pattern.compile("([0-9]+)(?:\\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?");
    private static final Pattern NUMBER = Pattern.compile("\\A(?:.*[0-9.])?", Pattern.DOTALL);

    private record Unit(String name, long nanoseconds, List<String> words) {}

    private static final List<Unit> UNITS = List.of(
            new Unit("ms", 1_000_000, List.of("millisecond")),
            new Unit("s", 1_000_000_000, List.of("sec", "second")),
            new Unit("m", 60_000_000_000L, List.of("min", "minute")),
            new Unit("h", 3_600_000_000_000L, List.of("hour")),
            new Unit("d", 86_400_000_000_000L, List.of("day")));

    /** An exact number. The denominator is above 0. */
    public record Quotient(BigInteger numerator, BigInteger denominator) {
        /** The nearest double. */
        public double value() {
            return new BigDecimal(numerator).divide(new BigDecimal(denominator), MathContext.DECIMAL64).doubleValue();
        }
    }

    /**
     * A rate.
     *
     * @param tokens that come back in the period
     * @param period in nanoseconds
     */
    public record Rate(Quotient tokens, Quotient period) {}

    private record Decimal(BigInteger digits, BigInteger scale) {}

    private Rates() {}

    /** Whole milliseconds of a duration from 1 ms to 10 years. It throws {@link InvalidException} for any other. */
    public static long milliseconds(Duration duration, String name) {
        if (duration.getNano() % 1_000_000 != 0 || duration.compareTo(Duration.ofMillis(1)) < 0 || duration.compareTo(Duration.ofMillis(LONGEST_MS)) > 0) {
            throw new InvalidException(name + ": must be whole milliseconds from 1 ms to 10 years, such as Duration.ofSeconds(30), got " + duration);
        }
        return duration.toMillis();
    }

    /** A number of tokens, as it is. It throws {@link InvalidException} unless it is from least to {@link #MOST_TOKENS}. */
    public static long count(long n, String name, long least) {
        if (n < least || n > MOST_TOKENS) {
            throw new InvalidException(name + ": must be an integer between " + least + " and " + MOST_TOKENS + ", got " + n);
        }
        return n;
    }

    /** Nanoseconds of a duration as the server reads it: a bare number is seconds. It throws {@link InvalidException} for any other text. */
    public static BigInteger duration(String text) {
        String[] parts = splitUnit(text);
        Decimal number = text.length() > MOST_CHARACTERS ? null : decimal(parts[0]);
        BigInteger unit = unitOf(parts[1]);
        if (number != null && unit != null) {
            BigInteger[] ns = number.digits.multiply(unit).divideAndRemainder(number.scale);
            if (ns[1].signum() == 0 && ns[0].compareTo(SHORTEST) >= 0 && ns[0].compareTo(LONGEST) <= 0) {
                return ns[0];
            }
        }
        throw new InvalidException(
                "a duration must be between 1ms and 10 years in whole nanoseconds, such as 250ms, 10s, 1.5m, 1h or 7d (a bare number is seconds), got " + quote(text));
    }

    /** Reads a rate as the server does: "10", "10/s", "5/500ms", "10 per second". It throws {@link InvalidException} for any other text. */
    public static Rate rate(String text) {
        int slash = text.indexOf('/');
        int separator = slash >= 0 ? slash : text.toLowerCase(Locale.ROOT).indexOf(" per ");
        String period = separator < 0 ? "s" : text.substring(separator + (slash >= 0 ? 1 : 5));
        String[] parts = splitUnit(period);
        Decimal number = text.length() > MOST_CHARACTERS ? null : decimal(separator < 0 ? text : text.substring(0, separator));
        Decimal times = text.length() > MOST_CHARACTERS ? null : decimal(parts[0].isEmpty() ? "1" : parts[0]);
        BigInteger unit = unitOf(parts[1]);
        if (period.isEmpty() || number == null || times == null || unit == null) {
            String names = String.join(", ", UNITS.stream().map(each -> each.name + " (" + String.join(", ", each.words) + ")").toList());
            throw new InvalidException(
                    "a rate must be such as 100, 0.035, 1000/60, 1000/m, 5/500ms or \"10 per second\"; units: " + names + "; got " + quote(text));
        }
        BigInteger ns = times.digits.multiply(unit);
        if (isOutside(number, times, ns)) {
            throw new InvalidException(
                    "a rate must be above 0 and at most " + MOST_TOKENS + " tokens, per 1ms to 10 years, and not below 1 token in 10 years, got " + quote(text));
        }
        return new Rate(new Quotient(number.digits, number.scale), new Quotient(ns, times.scale));
    }

    private static boolean isOutside(Decimal number, Decimal times, BigInteger ns) {
        return number.digits.signum() == 0
                || number.digits.compareTo(BigInteger.valueOf(MOST_TOKENS).multiply(number.scale)) > 0
                || ns.compareTo(SHORTEST.multiply(times.scale)) < 0
                || ns.compareTo(LONGEST.multiply(times.scale)) > 0
                || ns.multiply(number.scale).compareTo(number.digits.multiply(times.scale).multiply(LONGEST)) > 0;
    }

    /** A number as programs print it, such as 1.5 or 1e-7; null for any other text. */
    private static @Nullable Decimal decimal(String text) {
        Matcher matcher = DECIMAL.matcher(text);
        if (!matcher.matches()) {
            return null;
        }
        String fraction = matcher.group(2) == null ? "" : matcher.group(2);
        BigInteger exponent = matcher.group(3) == null ? BigInteger.ZERO : new BigInteger(matcher.group(3));
        BigInteger most = BigInteger.valueOf(2 * MOST_CHARACTERS); // beyond it the number is beyond every bound
        int power = exponent.max(most.negate()).min(most).intValue() - fraction.length();
        return new Decimal(
                new BigInteger(matcher.group(1) + fraction).multiply(BigInteger.TEN.pow(Math.max(0, power))), BigInteger.TEN.pow(Math.max(0, -power)));
    }

    /** A number and the unit behind it, either of which may be missing. */
    private static String[] splitUnit(String text) {
        Matcher matcher = NUMBER.matcher(text);
        int end = matcher.find() ? matcher.end() : 0;
        return new String[] {text.substring(0, end), text.substring(end)};
    }

    private static @Nullable BigInteger unitOf(String suffix) {
        String word = suffix.toLowerCase(Locale.ROOT);
        if (word.isEmpty()) {
            return BigInteger.valueOf(1_000_000_000);
        }
        for (Unit unit : UNITS) {
            if (word.equals(unit.name) || unit.words.contains(word) || (word.endsWith("s") && unit.words.contains(word.substring(0, word.length() - 1)))) {
                return BigInteger.valueOf(unit.nanoseconds);
            }
        }
        return null;
    }

    /** A text as an error shows it. */
    public static String quote(String text) {
        return '"' + (text.length() > 100 ? text.substring(0, 100) : text) + '"';
    }
}
