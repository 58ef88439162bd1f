package com.stintdb.test;

import com.stintdb.test.Decision.Ask;
import com.stintdb.test.State.Closed;
import com.stintdb.test.State.Segments;
import com.stintdb.test.State.Window;
import java.math.BigInteger;
import java.util.Map;
import java.util.NavigableMap;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Decides by the states of fixed windows, and of sliding windows in segments. */
final class Windows {
    private static final Window NONE = new Window(BigInteger.ZERO, BigInteger.ZERO, null);

    private Windows() {}

    /** Whether a window that is over may still roll over. */
    static boolean isRemembered(FakeLimit limit, State state, BigInteger now) {
        Closed before = state instanceof Window window && limit.rollover().signum() > 0 ? at(limit, window, now).before() : null;
        return before != null && now.compareTo(limit.windowEnd(limit.windowEnd(before.end()))) < 0;
    }

    /** The window of a time, given the state of a key. */
    static Window at(FakeLimit limit, Window window, BigInteger now) {
        return window.end().compareTo(now) > 0 && window.taken().signum() != 0 ? window : after(limit, window, limit.windowEnd(now));
    }

    /** The window with an end that follows another one. */
    private static Window after(FakeLimit limit, Window window, BigInteger end) {
        if (window.taken().signum() == 0 || limit.rollover().signum() == 0) {
            return new Window(end, BigInteger.ZERO, window.before());
        }
        return new Window(end, BigInteger.ZERO, new Closed(window.end(), tokens(limit, window).subtract(window.taken())));
    }

    /** The tokens of a window. After one window without usage, the most that may roll over are added to the limit, and after two nothing. */
    private static BigInteger tokens(FakeLimit limit, Window window) {
        Closed before = window.before();
        if (before == null || limit.rollover().signum() == 0) {
            return limit.tokens();
        }
        BigInteger following = limit.windowEnd(before.end());
        if (following.equals(window.end())) {
            return limit.tokens().add(before.left().max(BigInteger.ZERO).min(limit.rollover()));
        }
        return limit.windowEnd(following).equals(window.end()) ? limit.tokens().add(limit.rollover()) : limit.tokens();
    }

    static Decision fixed(FakeLimit limit, @Nullable State state, BigInteger now, Ask ask) {
        Window window = at(limit, state instanceof Window w ? w : NONE, now);
        BigInteger tokens = tokens(limit, window);
        BigInteger left = tokens.subtract(window.taken());
        BigInteger n = ask.numberOf(left);
        Fraction reset = Fraction.of(window.end().subtract(now));
        if (!ask.isForced() && n.compareTo(left) > 0) {
            return Decision.denied(tokens, left, delay(limit, window, now, n), window.taken().signum() > 0 ? reset : Fraction.ZERO, state);
        }
        Window taken = new Window(window.end(), window.taken().add(n), window.before());
        return new Decision(n, tokens, left.subtract(n), Fraction.ZERO, reset, taken);
    }

    /** The time until n tokens fit the next window, or the one after it, to which more may roll over; null is never. */
    private static @Nullable Fraction delay(FakeLimit limit, Window present, BigInteger now, BigInteger n) {
        Window window = present;
        for (int i = 0; i < 2; i++) {
            BigInteger begin = window.end();
            window = after(limit, window, limit.windowEnd(begin));
            if (n.compareTo(tokens(limit, window)) <= 0) {
                return Fraction.of(begin.subtract(now));
            }
        }
        return null;
    }

    static Decision segments(FakeLimit limit, @Nullable State state, BigInteger now, Ask ask) {
        BigInteger width = limit.period().add(limit.segments()).subtract(BigInteger.ONE).divide(limit.segments());
        BigInteger number = now.divide(width);
        SortedMap<BigInteger, BigInteger> counts = new TreeMap<>();
        if (state instanceof Segments held) {
            counts.putAll(held.counts().tailMap(number.subtract(limit.segments())));
        }
        BigInteger left = limit.tokens().subtract(sum(counts));
        BigInteger n = ask.numberOf(left);
        Function<BigInteger, Fraction> until = most -> until(counts, most, limit, width, now); // at most so many count
        if (!ask.isForced() && n.compareTo(left) > 0) {
            Fraction delay = n.compareTo(limit.tokens()) > 0 ? null : until.apply(limit.tokens().subtract(n));
            return Decision.denied(limit.tokens(), left, delay, until.apply(BigInteger.ZERO), state);
        }
        counts.merge(number, n, BigInteger::add);
        return new Decision(n, limit.tokens(), left.subtract(n), Fraction.ZERO, until.apply(BigInteger.ZERO), new Segments(counts));
    }

    private static Fraction until(SortedMap<BigInteger, BigInteger> counts, BigInteger most, FakeLimit limit, BigInteger width, BigInteger now) {
        BigInteger left = sum(counts);
        for (Map.Entry<BigInteger, BigInteger> segment : counts.entrySet()) {
            left = left.subtract(segment.getValue());
            if (segment.getValue().signum() > 0 && left.compareTo(most) <= 0) {
                return Fraction.of(segment.getKey().add(limit.segments()).add(BigInteger.ONE).multiply(width).subtract(now));
            }
        }
        return Fraction.ZERO;
    }

    private static BigInteger sum(SortedMap<BigInteger, BigInteger> counts) {
        return counts.values().stream().reduce(BigInteger.ZERO, BigInteger::add);
    }

    /** Segments without some tokens, those that were taken last. */
    static Segments without(Segments segments, BigInteger tokens) {
        NavigableMap<BigInteger, BigInteger> rest = new TreeMap<>(segments.counts());
        BigInteger left = tokens;
        for (Map.Entry<BigInteger, BigInteger> segment : rest.descendingMap().entrySet()) {
            BigInteger back = left.min(segment.getValue());
            segment.setValue(segment.getValue().subtract(back));
            left = left.subtract(back);
        }
        return new Segments(rest);
    }
}
