package com.stintdb.test;

import com.stintdb.client.Algorithm;
import com.stintdb.client.InvalidException;
import com.stintdb.client.internal.Rates;
import com.stintdb.client.internal.Rates.Rate;
import java.math.BigInteger;
import java.time.Instant;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A limit as its command has it. Times are in nanoseconds.
 *
 * @param tokens the most at once
 * @param interval the time in which a token comes back
 * @param period the length of a window, or of a place, or the time in which count and least of AD come back
 * @param count the tokens that come back in the period at the highest rate of AD
 * @param least those at the lowest rate
 * @param window the window of FW
 * @param holder the holder of a place
 */
record FakeLimit(
        Algorithm algorithm, BigInteger tokens, Fraction interval, BigInteger period, BigInteger count, BigInteger least, String window, String holder) {
    private static final BigInteger SECOND = BigInteger.valueOf(1_000_000_000);
    private static final BigInteger DAY = SECOND.multiply(BigInteger.valueOf(86_400));

    /** The ends of the windows of the calendar, in UTC. */
    private static final Map<String, Function<BigInteger, BigInteger>> CALENDAR = Map.of(
            "@minute", now -> next(now, SECOND.multiply(BigInteger.valueOf(60))),
            "@hour", now -> next(now, SECOND.multiply(BigInteger.valueOf(3600))),
            "@day", now -> next(now, DAY),
            "@week", now -> { // the fifth day was the first Monday
                BigInteger thursday = DAY.multiply(BigInteger.valueOf(4));
                return next(now.subtract(thursday), DAY.multiply(BigInteger.valueOf(7))).add(thursday);
            },
            "@month", now -> begin(dateOf(now).withDayOfMonth(1).plusMonths(1)),
            "@quarter", now -> begin(dateOf(now).withDayOfMonth(1).minusMonths((dateOf(now).getMonthValue() - 1) % 3).plusMonths(3)),
            "@year", now -> begin(dateOf(now).withDayOfYear(1).plusYears(1)));

    /** The algorithm of a command; null if there is no such one, or the fake lacks it. */
    static @Nullable Algorithm ofCommand(String command) {
        for (Algorithm each : Algorithm.values()) {
            if (each.command().equals(command) && each != Algorithm.FAIR_SHARE) {
                return each;
            }
        }
        return null;
    }

    /** The algorithm of a word of RL.ALL; null if there is no such one, or the fake lacks it. */
    static @Nullable Algorithm ofSpec(String spec) {
        for (Algorithm each : Algorithm.values()) {
            if (each.spec().equals(spec) && each != Algorithm.FAIR_SHARE) {
                return each;
            }
        }
        return null;
    }

    /** The number of words of a limit behind its key. */
    static int length(Algorithm algorithm) {
        return switch (algorithm) {
            case GCRA, CONCURRENCY, ADAPTIVE, FAIR_SHARE -> 3;
            default -> 2;
        };
    }

    /** Reads the words of a limit. */
    static FakeLimit read(Algorithm algorithm, List<String> words) {
        if (words.size() < length(algorithm)) {
            throw new InvalidException("wrong number of arguments for " + algorithm.spec());
        }
        BigInteger tokens = number(words.get(0), algorithm == Algorithm.GCRA ? 0 : 1);
        String second = words.get(1);
        FakeLimit limit = new FakeLimit(algorithm, tokens, Fraction.of(1), BigInteger.ONE, BigInteger.ZERO, BigInteger.ZERO, "", "");
        return switch (algorithm) {
            case TOKEN_BUCKET, LEAKY_BUCKET, LEAKY_QUEUE -> {
                Integers rate = Integers.of(second);
                yield limit.with(algorithm == Algorithm.LEAKY_QUEUE ? tokens.add(BigInteger.ONE) : tokens, Fraction.of(rate.period, rate.count));
            }
            case GCRA -> limit.with(tokens.add(BigInteger.ONE), Fraction.of(number(words.get(2), 1).multiply(SECOND), number(second, 1)));
            case CONCURRENCY -> new FakeLimit(
                    algorithm, tokens, limit.interval, Rates.duration(second), BigInteger.ZERO, BigInteger.ZERO, "", words.get(2));
            case ADAPTIVE -> {
                Integers lowest = Integers.of(second);
                Integers highest = Integers.of(words.get(2));
                BigInteger common = lowest.period.gcd(highest.period);
                BigInteger byLowest = highest.period.divide(common); // the factors that make the periods equal
                BigInteger byHighest = lowest.period.divide(common);
                yield new FakeLimit(
                        algorithm, tokens, limit.interval, highest.period.multiply(byHighest), highest.count.multiply(byHighest),
                        lowest.count.multiply(byLowest), "", "");
            }
            default -> {
                String window = second.toLowerCase(Locale.ROOT);
                BigInteger period = CALENDAR.containsKey(window) ? BigInteger.ONE : Rates.duration(window.startsWith("@") ? window.substring(1) : second);
                yield new FakeLimit(algorithm, tokens, limit.interval, period, BigInteger.ZERO, BigInteger.ZERO, window, "");
            }
        };
    }

    /** A rate in integers: tokens, and the nanoseconds in which they come back. */
    private record Integers(BigInteger count, BigInteger period) {
        static Integers of(String word) {
            Rate rate = Rates.rate(word);
            return new Integers(
                    rate.tokens().numerator().multiply(rate.period().denominator()), rate.period().numerator().multiply(rate.tokens().denominator()));
        }
    }

    private FakeLimit with(BigInteger most, Fraction every) {
        return new FakeLimit(algorithm, most, every, period, count, least, window, holder);
    }

    FakeLimit withInterval(Fraction every) {
        return with(tokens, every);
    }

    FakeLimit withHolder(String name) {
        return new FakeLimit(algorithm, tokens, interval, period, count, least, window, name);
    }

    /** A number of tokens. */
    static BigInteger number(String word, long least) {
        if (word.matches("[0-9]{1,13}")) {
            long n = Long.parseLong(word);
            if (n >= least && n <= Rates.MOST_TOKENS) {
                return BigInteger.valueOf(n);
            }
        }
        throw new InvalidException("must be an integer between " + least + " and " + Rates.MOST_TOKENS + ", got '" + word + "'");
    }

    /** The end of the window that a request belongs to. */
    BigInteger windowEnd(BigInteger now) {
        Function<BigInteger, BigInteger> end = CALENDAR.get(window);
        return end != null ? end.apply(now) : window.startsWith("@") ? next(now, period) : now.add(period);
    }

    private static BigInteger next(BigInteger now, BigInteger period) {
        return now.divide(period).add(BigInteger.ONE).multiply(period);
    }

    private static LocalDate dateOf(BigInteger now) {
        return LocalDate.ofInstant(Instant.ofEpochMilli(now.divide(BigInteger.valueOf(1_000_000)).longValue()), ZoneOffset.UTC);
    }

    private static BigInteger begin(LocalDate day) {
        return DAY.multiply(BigInteger.valueOf(day.toEpochDay()));
    }
}
