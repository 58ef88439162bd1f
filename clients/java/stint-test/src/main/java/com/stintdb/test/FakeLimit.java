package com.stintdb.test;

import com.stintdb.client.Algorithm;
import com.stintdb.client.InvalidException;
import com.stintdb.client.Limit;
import com.stintdb.client.StintException;
import com.stintdb.client.internal.Rates;
import com.stintdb.client.internal.Rates.Rate;
import com.stintdb.client.internal.Replies;
import java.math.BigInteger;
import java.time.Instant;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A limit as its command has it. Times are in nanoseconds.
 *
 * @param tokens the most at once
 * @param interval the time in which a token comes back
 * @param period the length of a window, or of a place
 * @param window the window of FW
 * @param rollover the tokens of FW of which at most may roll over to the next window
 * @param segments the segments of SW
 * @param holder the holder of a place
 */
record FakeLimit(
        Algorithm algorithm, BigInteger tokens, Fraction interval, BigInteger period, String window, BigInteger rollover, BigInteger segments, String holder) {
    private static final BigInteger SECOND = BigInteger.valueOf(1_000_000_000);
    private static final BigInteger DAY = SECOND.multiply(BigInteger.valueOf(86_400));

    private static final Set<Algorithm> KNOWN = EnumSet.of(
            Algorithm.TOKEN_BUCKET, Algorithm.FIXED_WINDOW, Algorithm.SLIDING_WINDOW, Algorithm.CONCURRENCY, Algorithm.BALANCE);

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

    /** The error of what only the server has. */
    static StintException lacks(String what) {
        return Replies.errorOf("ERR the fake server has no " + what + ": it knows token buckets, fixed windows without other options than ROLLOVER, "
                + "sliding windows in SEGMENTS, concurrency limits, balances without EXPIRE, and policies of them; run this test on a real server, with StintServer.start");
    }

    /** The algorithm of a command; null if there is no such one, or the fake lacks it. */
    static @Nullable Algorithm ofCommand(String command) {
        return KNOWN.stream().filter(each -> each.command().equals(command)).findFirst().orElse(null);
    }

    /** The algorithm of a word of RL.ALL; null if there is no such one, or the fake lacks it. */
    static @Nullable Algorithm ofSpec(String spec) {
        return KNOWN.stream().filter(each -> each.spec().equals(spec)).findFirst().orElse(null);
    }

    /** The number of words of a limit after its key. */
    static int length(Algorithm algorithm) {
        return switch (algorithm) {
            case BALANCE -> 0;
            case CONCURRENCY -> 3;
            default -> 2;
        };
    }

    /** The limit of a policy. Words are its own, with the names of a caller filled in. */
    static FakeLimit of(Limit limit, List<String> words) {
        Algorithm algorithm = limit.algorithm();
        String[] all = limit.toString().split(" ");
        List<String> behind = new ArrayList<>(algorithm == Algorithm.CONCURRENCY ? List.of() : List.of(all).subList(1 + words.size(), all.length));
        if (KNOWN.contains(algorithm)) {
            FakeLimit read = read(algorithm, words, behind);
            if (behind.isEmpty()) {
                return read;
            }
        }
        throw lacks("limit " + limit);
    }

    /** Reads the words of a limit, and takes its option off the words behind them. */
    static FakeLimit read(Algorithm algorithm, List<String> words, List<String> behind) {
        FakeLimit limit = read(algorithm, words);
        String option = behind.size() > 1 ? behind.get(0) : "";
        if (algorithm == Algorithm.FIXED_WINDOW && option.equals("ROLLOVER")) {
            return limit.with(limit.tokens.multiply(number(taken(behind).replace("%", ""), 1)).divide(BigInteger.valueOf(100)), BigInteger.ONE);
        }
        if (algorithm != Algorithm.SLIDING_WINDOW) {
            return limit;
        }
        if (!option.equals("SEGMENTS")) {
            throw lacks("SW without SEGMENTS");
        }
        return limit.with(BigInteger.ZERO, number(taken(behind), 2));
    }

    /** Takes an option off some words, and returns its value. */
    private static String taken(List<String> words) {
        words.remove(0);
        return words.remove(0);
    }

    private FakeLimit with(BigInteger most, BigInteger parts) {
        return new FakeLimit(algorithm, tokens, interval, period, window, most, parts, holder);
    }

    private static FakeLimit read(Algorithm algorithm, List<String> words) {
        if (words.size() < length(algorithm)) {
            throw new InvalidException("wrong number of arguments for " + algorithm.spec());
        }
        if (algorithm == Algorithm.BALANCE) {
            return plain(algorithm, BigInteger.ZERO, Fraction.of(1), BigInteger.ONE, "", "");
        }
        BigInteger tokens = number(words.get(0), 1);
        String second = words.get(1);
        if (algorithm == Algorithm.TOKEN_BUCKET) {
            return plain(algorithm, tokens, intervalOf(second), BigInteger.ONE, "", "");
        }
        String window = algorithm == Algorithm.FIXED_WINDOW ? second.toLowerCase(Locale.ROOT) : "";
        BigInteger period = CALENDAR.containsKey(window) ? BigInteger.ONE : Rates.duration(window.startsWith("@") ? window.substring(1) : second);
        String holder = algorithm == Algorithm.CONCURRENCY ? words.get(2) : "";
        return plain(algorithm, tokens, Fraction.of(1), period, window, holder);
    }

    private static FakeLimit plain(Algorithm algorithm, BigInteger tokens, Fraction interval, BigInteger period, String window, String holder) {
        return new FakeLimit(algorithm, tokens, interval, period, window, BigInteger.ZERO, BigInteger.ONE, holder);
    }

    /** The nanoseconds in which a token comes back. */
    private static Fraction intervalOf(String word) {
        Rate rate = Rates.rate(word);
        return Fraction.of(
                rate.period().numerator().multiply(rate.tokens().denominator()), rate.tokens().numerator().multiply(rate.period().denominator()));
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
