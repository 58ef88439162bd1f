package com.stintdb.test;

import com.stintdb.client.InvalidException;
import com.stintdb.client.internal.Rates;
import com.stintdb.test.Decision.Ask;
import com.stintdb.test.State.Adaptive;
import com.stintdb.test.State.Meter;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Limits whose rate follows reports. A rate changes by a step: a thousandth of a token to the period, or more for rates of very many tokens and long periods. */
final class AdaptiveLimits {
    private static final BigInteger REMEMBERED = BigInteger.valueOf(600_000_000_000L); // nanoseconds for which an unused key keeps its rate
    private static final BigInteger STALE_AFTER = BigInteger.TEN; // times EVERY: reports from before count no more
    private static final BigInteger ECHO_PART = BigInteger.TEN; // of EVERY: bad calls do not count after the rate has fallen
    private static final BigInteger WHOLE_RATE = BigInteger.valueOf(100_000); // thousandths of a percent
    private static final BigInteger MOST_REPORTED = BigInteger.TEN.pow(18);
    private static final Pattern PERCENT = Pattern.compile("([0-9]{1,3})(?:\\.([0-9]{1,3}))?%");

    private AdaptiveLimits() {}

    private static BigInteger stepsOf(FakeLimit limit) {
        return BigInteger.valueOf(1000)
                .min(BigInteger.valueOf(1_000_000_000_000L).divide(limit.count()))
                .min(BigInteger.valueOf(315_360_000_000_000_000L).divide(limit.period()))
                .max(BigInteger.ONE);
    }

    /** The limit at a rate, as a bucket. */
    private static FakeLimit at(FakeLimit limit, BigInteger rate) {
        return limit.withInterval(Fraction.of(limit.period().multiply(stepsOf(limit)), rate));
    }

    private static BigInteger clamped(FakeLimit limit, BigInteger rate) {
        BigInteger steps = stepsOf(limit);
        return rate.max(limit.least().multiply(steps)).max(BigInteger.ONE).min(limit.count().multiply(steps));
    }

    /** The tokens taken under one rate, under another. */
    private static Fraction carried(Fraction full, BigInteger at, FakeLimit before, FakeLimit after) {
        Fraction now = Fraction.of(at);
        return now.plus(Fraction.later(full.minus(now), Fraction.ZERO).over(before.interval()).times(after.interval()));
    }

    /** A state under another limit: taken tokens and the rate carry over. */
    static Adaptive under(FakeLimit limit, Adaptive state, FakeLimit before, BigInteger now) {
        boolean isSame = limit.count().equals(before.count()) && limit.least().equals(before.least()) && limit.period().equals(before.period());
        BigInteger rate = isSame
                ? state.rate()
                : clamped(limit, state.rate().multiply(limit.period()).multiply(stepsOf(limit)).divide(before.period().multiply(stepsOf(before))));
        Fraction full = carried(state.full(), now, at(before, state.rate()), at(limit, rate));
        return new Adaptive(full, rate, state.since(), state.used(), state.good(), state.bad(), state.fell(), state.pausedUntil(), state.usedAt());
    }

    /** Whether a key keeps its rate although all tokens are back. */
    static boolean isRemembered(Adaptive state, BigInteger now) {
        return now.subtract(state.usedAt()).compareTo(REMEMBERED) < 0 || state.pausedUntil().compareTo(now) > 0;
    }

    static Decision decide(FakeLimit limit, @Nullable State state, BigInteger now, Ask ask) {
        Adaptive known = state instanceof Adaptive adaptive ? adaptive : new Adaptive(
                Fraction.of(now), limit.count().multiply(stepsOf(limit)), now, BigInteger.ZERO, false, false, false, BigInteger.ZERO, now);
        FakeLimit bucket = at(limit, known.rate());
        Meter full = new Meter(known.full());
        Decision d = States.meter(bucket, full, now, ask);
        if (known.pausedUntil().compareTo(now) > 0) {
            Fraction pause = Fraction.of(known.pausedUntil().subtract(now));
            if (d.isGranted()) {
                Decision denied = States.meter(bucket, full, now, new Ask(limit.tokens().add(BigInteger.ONE)));
                return Decision.denied(denied.remaining(), pause, denied.reset(), state);
            }
            return Decision.denied(d.remaining(), d.delay() == null ? null : Fraction.later(d.delay(), pause), d.reset(), state);
        }
        if (!d.isGranted() || !(d.state() instanceof Meter after)) {
            return new Decision(d.granted(), d.remaining(), d.delay(), d.reset(), state);
        }
        Adaptive used = new Adaptive(
                after.full(), known.rate(), known.since(), known.used().add(d.granted()), known.good(), known.bad(), known.fell(), known.pausedUntil(), now);
        return new Decision(d.granted(), d.remaining(), d.delay(), d.reset(), used);
    }

    /** A state after tokens were given back. */
    static Adaptive givenBack(FakeLimit limit, Adaptive s, BigInteger tokens) {
        Fraction full = s.full().minus(at(limit, s.rate()).interval().times(tokens));
        return new Adaptive(full, s.rate(), s.since(), s.used(), s.good(), s.bad(), s.fell(), s.pausedUntil(), s.usedAt());
    }

    /** A report. Percentages are in thousandths. */
    record News(boolean good, boolean bad, BigInteger every, BigInteger pause, BigInteger down, BigInteger up) {
        boolean isEmpty() {
            return !good && !bad && pause.signum() == 0;
        }

        /** Reads the words of a report behind its key. */
        static News read(List<String> words) {
            BigInteger every = BigInteger.valueOf(1_000_000_000);
            BigInteger pause = BigInteger.ZERO;
            BigInteger down = BigInteger.valueOf(80_000);
            BigInteger up = BigInteger.valueOf(5000);
            boolean good = hasCalls(words.get(0));
            boolean bad = hasCalls(words.get(1));
            for (int i = 2; i + 1 < words.size(); i += 2) {
                String value = words.get(i + 1);
                switch (words.get(i)) {
                    case "EVERY" -> every = Rates.duration(value);
                    case "PAUSE" -> pause = Rates.duration(value);
                    case "DOWN" -> down = thousandths(value);
                    case "UP" -> up = thousandths(value);
                    default -> throw new InvalidException("the fake server has no " + words.get(i) + " in AD.REPORT");
                }
            }
            return new News(good, bad, every, pause, down, up);
        }

        private static boolean hasCalls(String word) {
            if (!word.matches("[0-9]{1,19}") || new BigInteger(word).compareTo(MOST_REPORTED) > 0) {
                throw new InvalidException("must be an integer between 0 and " + MOST_REPORTED + ", got '" + word + "'");
            }
            return new BigInteger(word).signum() > 0;
        }
    }

    /** Thousandths of a percent. */
    static BigInteger thousandths(String word) {
        Matcher parts = PERCENT.matcher(word);
        if (!parts.matches()) {
            throw new InvalidException("must be a percentage such as 12.5%, got '" + word + "'");
        }
        String decimals = parts.group(2) == null ? "" : parts.group(2);
        return new BigInteger(parts.group(1) + decimals + "0".repeat(3 - decimals.length()));
    }

    /** A state after a report. */
    static Adaptive heard(FakeLimit limit, Adaptive s, News news, BigInteger now) {
        BigInteger elapsed = now.subtract(s.since());
        boolean isStale = elapsed.divide(STALE_AFTER).compareTo(news.every) >= 0;
        boolean isEcho = s.fell() && elapsed.compareTo(news.every.divide(ECHO_PART)) < 0;
        boolean good = (s.good() && !isStale) || news.good;
        boolean bad = (s.bad() && !isStale) || (news.bad && !isEcho);
        BigInteger paused = s.pausedUntil().max(now.add(news.pause));
        if (elapsed.compareTo(news.every) < 0 || (!good && !bad)) {
            return new Adaptive(s.full(), s.rate(), s.since(), s.used(), good, bad, s.fell(), paused, now);
        }
        BigInteger rate = s.rate();
        if (bad) {
            rate = rate.multiply(news.down).divide(WHOLE_RATE);
        } else if (!Fraction.of(elapsed).over(at(limit, rate).interval()).isAbove(Fraction.of(s.used().multiply(BigInteger.TWO)))) { // half of it was used
            rate = rate.add(limit.count().multiply(stepsOf(limit)).multiply(news.up).divide(WHOLE_RATE).max(BigInteger.ONE));
        }
        rate = clamped(limit, rate);
        Fraction full = carried(s.full(), now, at(limit, s.rate()), at(limit, rate));
        return new Adaptive(full, rate, now, BigInteger.ZERO, false, false, bad, paused, now);
    }

    /** The present rate in tokens a second: rounded down to nine decimals, without zeros at the end. */
    static String perSecond(FakeLimit limit, Adaptive state) {
        BigInteger billionths = Fraction.of(BigInteger.TEN.pow(18)).over(at(limit, state.rate()).interval()).floor();
        BigDecimal perSecond = new BigDecimal(billionths, 9);
        return perSecond.signum() == 0 ? "0" : perSecond.stripTrailingZeros().toPlainString();
    }
}
