package com.stintdb.test;

import com.stintdb.test.Decision.Ask;
import com.stintdb.test.State.Bucket;
import com.stintdb.test.State.Credits;
import com.stintdb.test.State.Places;
import java.math.BigInteger;
import java.util.Collection;
import java.util.Comparator;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** Decides by the states of limiters. A new key has none. */
final class States {
    private static final BigInteger TOO_MANY = BigInteger.TEN.pow(15); // than any limit grants

    private States() {}

    static Decision decide(FakeLimit limit, @Nullable State state, BigInteger now, Ask ask) {
        return switch (limit.algorithm()) {
            case CONCURRENCY -> places(limit, state, now, ask);
            case FIXED_WINDOW -> Windows.fixed(limit, state, now, ask);
            case SLIDING_WINDOW -> Windows.segments(limit, state, now, ask);
            case BALANCE -> balance(state, ask);
            default -> bucket(limit, state, now, ask);
        };
    }

    /** The state of a limit of which nothing is asked: that of a denial. */
    static Decision look(FakeLimit limit, @Nullable State state, BigInteger now) {
        return decide(limit, state, now, new Ask(TOO_MANY));
    }

    /** Whether a state equals that of a new key. */
    static boolean isFull(FakeLimit limit, State state, BigInteger now) {
        return !(state instanceof Credits) && !Windows.isRemembered(limit, state, now) && look(limit, state, now).reset().sign() == 0;
    }

    private static Decision bucket(FakeLimit limit, @Nullable State state, BigInteger at, Ask ask) {
        Fraction now = Fraction.of(at);
        Fraction most = limit.interval().times(limit.tokens());
        Fraction full = state instanceof Bucket bucket ? Fraction.later(bucket.full(), now) : now;
        BigInteger left = now.plus(most).minus(full).over(limit.interval()).floor();
        BigInteger n = ask.numberOf(left);
        Fraction after = full.plus(limit.interval().times(n));
        Fraction missing = after.minus(now).minus(most);
        Fraction ahead = Fraction.of(ask.maxWait());
        boolean isTooMany = n.compareTo(limit.tokens()) > 0;
        if (!ask.isForced() && (isTooMany || missing.isAbove(ahead))) {
            return Decision.denied(limit.tokens(), left, isTooMany ? null : missing.minus(ahead), full.minus(now), state);
        }
        BigInteger remaining = now.plus(most).minus(after).over(limit.interval()).floor();
        Fraction delay = ask.isForced() ? Fraction.ZERO : Fraction.later(missing, Fraction.ZERO);
        return new Decision(n, limit.tokens(), remaining, delay, after.minus(now), new Bucket(after));
    }

    private static Decision balance(@Nullable State state, Ask ask) {
        Credits credits = state instanceof Credits c ? c : new Credits(BigInteger.ZERO, BigInteger.ZERO);
        BigInteger left = credits.added().subtract(credits.spent());
        BigInteger n = ask.numberOf(left);
        if (!ask.isForced() && n.compareTo(left) > 0) {
            return Decision.denied(credits.added(), left, null, Fraction.ZERO, state);
        }
        return new Decision(n, credits.added(), left.subtract(n), Fraction.ZERO, Fraction.ZERO, new Credits(credits.added(), credits.spent().add(n)));
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
            return Decision.denied(limit.tokens(), left, isTooMany ? null : first, until(ends.values(), now, Comparator.naturalOrder()), state);
        }
        ends.put(limit.holder(), now.add(limit.period()));
        BigInteger remaining = limit.tokens().subtract(BigInteger.valueOf(ends.size()));
        return new Decision(BigInteger.ONE, limit.tokens(), remaining, Fraction.ZERO, until(ends.values(), now, Comparator.naturalOrder()), new Places(ends));
    }

    /** The time until the largest end by an order. */
    private static Fraction until(Collection<BigInteger> ends, BigInteger now, Comparator<BigInteger> order) {
        return Fraction.of(ends.stream().max(order).orElse(now).subtract(now));
    }
}
