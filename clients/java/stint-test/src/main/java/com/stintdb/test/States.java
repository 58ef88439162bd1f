package com.stintdb.test;

import com.stintdb.client.Algorithm;
import com.stintdb.test.Decision.Ask;
import com.stintdb.test.State.Counters;
import com.stintdb.test.State.Grant;
import com.stintdb.test.State.Log;
import com.stintdb.test.State.Meter;
import com.stintdb.test.State.Places;
import com.stintdb.test.State.Window;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** Decides by the states of limiters. A new key has none. */
final class States {
    private States() {}

    static Decision decide(FakeLimit limit, @Nullable State state, BigInteger now, Ask ask) {
        return switch (limit.algorithm()) {
            case ADAPTIVE -> AdaptiveLimits.decide(limit, state, now, ask);
            case CONCURRENCY -> places(limit, state, now, ask);
            case FIXED_WINDOW -> window(limit, state, now, ask);
            case SLIDING_WINDOW -> counters(limit, state, now, ask);
            case SLIDING_LOG -> log(limit, state, now, ask);
            default -> meter(limit, state, now, ask);
        };
    }

    /** The state of a limit of which nothing is asked: that of a denial. */
    static Decision look(FakeLimit limit, @Nullable State state, BigInteger now) {
        return decide(limit, state, now, new Ask(limit.tokens().add(BigInteger.ONE)));
    }

    /** Whether a state equals that of a new key. */
    static boolean isFull(FakeLimit limit, State state, BigInteger now) {
        boolean isRemembered = state instanceof State.Adaptive adaptive && AdaptiveLimits.isRemembered(adaptive, now);
        return !isRemembered && look(limit, state, now).reset().sign() == 0;
    }

    /** Token buckets, queues and GCRA. */
    static Decision meter(FakeLimit limit, @Nullable State state, BigInteger at, Ask ask) {
        Fraction now = Fraction.of(at);
        Fraction most = limit.interval().times(limit.tokens());
        Fraction full = state instanceof Meter meter ? Fraction.later(meter.full(), now) : now;
        BigInteger left = now.plus(most).minus(full).over(limit.interval()).floor();
        BigInteger n = ask.numberOf(left);
        Fraction after = full.plus(limit.interval().times(n));
        Fraction missing = after.minus(now).minus(most);
        Fraction ahead = Fraction.of(ask.maxWait());
        boolean isTooMany = n.compareTo(limit.tokens()) > 0;
        if (!ask.isForced() && (isTooMany || missing.isAbove(ahead))) {
            return Decision.denied(left, isTooMany ? null : missing.minus(ahead), full.minus(now), state);
        }
        Fraction delay = limit.algorithm() == Algorithm.LEAKY_QUEUE ? full.minus(now) : ask.isForced() ? Fraction.ZERO : Fraction.later(missing, Fraction.ZERO);
        return new Decision(n, now.plus(most).minus(after).over(limit.interval()).floor(), delay, after.minus(now), new Meter(after));
    }

    private static Decision window(FakeLimit limit, @Nullable State state, BigInteger now, Ask ask) {
        Window present = state instanceof Window w && w.end().compareTo(now) > 0 && w.taken().signum() > 0 ? w : null;
        BigInteger taken = present == null ? BigInteger.ZERO : present.taken();
        BigInteger left = limit.tokens().subtract(taken);
        BigInteger n = ask.numberOf(left);
        if (!ask.isForced() && n.compareTo(left) > 0) {
            Fraction reset = Fraction.of(present == null ? BigInteger.ZERO : present.end().subtract(now));
            return Decision.denied(left, n.compareTo(limit.tokens()) > 0 ? null : reset, reset, state);
        }
        BigInteger end = present == null ? limit.windowEnd(now) : present.end();
        return new Decision(n, left.subtract(n), Fraction.ZERO, Fraction.of(end.subtract(now)), new Window(end, taken.add(n)));
    }

    private static Decision log(FakeLimit limit, @Nullable State state, BigInteger now, Ask ask) {
        List<Grant> grants = new ArrayList<>();
        if (state instanceof Log log) {
            log.grants().stream().filter(grant -> grant.at().compareTo(now.subtract(limit.period())) > 0).forEach(grants::add);
        }
        BigInteger taken = grants.stream().map(Grant::tokens).reduce(BigInteger.ZERO, BigInteger::add);
        BigInteger left = limit.tokens().subtract(taken);
        BigInteger n = ask.numberOf(left);
        Grant last = grants.isEmpty() ? null : grants.get(grants.size() - 1);
        if (ask.isForced() || n.compareTo(left) <= 0) {
            BigInteger same = BigInteger.ZERO;
            if (last != null && last.at().equals(now)) {
                same = grants.remove(grants.size() - 1).tokens();
            }
            grants.add(new Grant(now, same.add(n)));
            return new Decision(n, left.subtract(n), Fraction.ZERO, Fraction.of(limit.period()), new Log(grants));
        }
        BigInteger delay = BigInteger.ZERO;
        BigInteger excess = n.subtract(left);
        for (Grant grant : grants) {
            if (excess.signum() > 0) {
                delay = grant.at().add(limit.period()).subtract(now);
                excess = excess.subtract(grant.tokens());
            }
        }
        Fraction reset = Fraction.of(last == null ? BigInteger.ZERO : last.at().add(limit.period()).subtract(now));
        return Decision.denied(left, n.compareTo(limit.tokens()) > 0 ? null : Fraction.of(delay), reset, state);
    }

    private static Decision counters(FakeLimit limit, @Nullable State state, BigInteger now, Ask ask) {
        BigInteger period = limit.period();
        BigInteger number = now.divide(period);
        BigInteger rest = period.subtract(now.mod(period)); // of this window
        BigInteger next = rest.add(period); // until the end of the next one
        Counters known = state instanceof Counters counters ? counters : new Counters(BigInteger.valueOf(-2), BigInteger.ZERO, BigInteger.ZERO);
        boolean isSame = known.number().equals(number);
        BigInteger current = isSame ? known.current() : BigInteger.ZERO;
        BigInteger before = isSame ? known.before() : known.number().equals(number.subtract(BigInteger.ONE)) ? known.current() : BigInteger.ZERO;
        BigInteger left = Fraction.of(limit.tokens().subtract(current)).minus(Fraction.of(rest.multiply(before), period)).floor();
        BigInteger n = ask.numberOf(left);
        if (ask.isForced() || n.compareTo(left) <= 0) {
            return new Decision(n, left.subtract(n), Fraction.ZERO, Fraction.of(next), new Counters(number, current.add(n), before));
        }
        Fraction reset = Fraction.of(current.signum() > 0 ? next : before.signum() > 0 ? rest : BigInteger.ZERO);
        Fraction delay = null;
        BigInteger free = limit.tokens().subtract(n);
        if (free.signum() >= 0) {
            delay = free.compareTo(current) >= 0
                    ? Fraction.of(rest).minus(Fraction.of(free.subtract(current).multiply(period), before)) // when enough of the window before has gone
                    : Fraction.of(next).minus(Fraction.of(free.multiply(period), current)); // in the next window, when enough of this one has
        }
        return Decision.denied(left, delay, reset, state);
    }

    private static Decision places(FakeLimit limit, @Nullable State state, BigInteger now, Ask ask) {
        Map<String, BigInteger> ends = new TreeMap<>();
        if (state instanceof Places places) {
            places.ends().forEach((holder, end) -> {
                if (end.compareTo(now) > 0) {
                    ends.put(holder, end);
                }
            });
        }
        BigInteger left = limit.tokens().subtract(BigInteger.valueOf(ends.size()));
        boolean isTooMany = ask.n().compareTo(BigInteger.ONE) > 0;
        if (isTooMany || (!ends.containsKey(limit.holder()) && left.signum() <= 0)) {
            Fraction first = until(ends.values(), now, Comparator.reverseOrder());
            return Decision.denied(left, isTooMany ? null : first, until(ends.values(), now, Comparator.naturalOrder()), state);
        }
        ends.put(limit.holder(), now.add(limit.period()));
        BigInteger remaining = limit.tokens().subtract(BigInteger.valueOf(ends.size()));
        return new Decision(BigInteger.ONE, remaining, Fraction.ZERO, until(ends.values(), now, Comparator.naturalOrder()), new Places(ends));
    }

    /** The time until the largest end by an order. */
    private static Fraction until(Collection<BigInteger> ends, BigInteger now, Comparator<BigInteger> order) {
        return Fraction.of(ends.stream().max(order).orElse(now).subtract(now));
    }
}
