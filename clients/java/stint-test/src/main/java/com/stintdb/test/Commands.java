package com.stintdb.test;

import com.stintdb.client.Algorithm;
import com.stintdb.client.internal.Rates;
import com.stintdb.client.internal.Replies;
import com.stintdb.test.Decision.Ask;
import com.stintdb.test.State.Bucket;
import com.stintdb.test.State.Places;
import com.stintdb.test.State.Window;
import com.stintdb.test.Store.Held;
import java.math.BigInteger;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** The commands about one limit. */
final class Commands {
    private static final BigInteger MILLISECOND = BigInteger.valueOf(1_000_000);

    private static final Map<Algorithm, Set<String>> OPTIONS = Map.of(
            Algorithm.TOKEN_BUCKET, Set.of("PEEK", "UPTO", "FORCE", "MAXWAIT"),
            Algorithm.FIXED_WINDOW, Set.of("PEEK", "UPTO", "FORCE"),
            Algorithm.CONCURRENCY, Set.of("PEEK"));

    private Commands() {}

    /** A time in a reply: milliseconds rounded up, and -1 for never. */
    static long rounded(@Nullable Fraction time) {
        return time == null ? -1 : time.over(Fraction.of(MILLISECOND)).ceil().longValue();
    }

    /** The command of an algorithm. Words are those after its name. */
    static List<Object> acquire(Store store, Algorithm algorithm, List<String> words) {
        int at = 1 + FakeLimit.length(algorithm);
        FakeLimit limit = FakeLimit.read(algorithm, words.subList(1, words.size()));
        BigInteger n = BigInteger.ONE;
        if (algorithm != Algorithm.CONCURRENCY && words.size() > at) {
            n = FakeLimit.number(words.get(at++), 0);
        }
        String option = words.size() > at ? words.get(at) : "";
        if (!option.isEmpty() && !OPTIONS.getOrDefault(algorithm, Set.of()).contains(option)) {
            throw FakeLimit.lacks(option + " in " + algorithm.command());
        }
        BigInteger maxWait = option.equals("MAXWAIT") ? Rates.duration(words.size() > at + 1 ? words.get(at + 1) : "") : BigInteger.ZERO;
        Decision d = store.ask(words.get(0), limit, new Ask(n, option, maxWait));
        if (d.isGranted() && !option.equals("PEEK")) {
            store.keep(words.get(0), limit, d.state());
        }
        long left = d.remaining().signum() > 0 || option.equals("FORCE") ? d.remaining().longValue() : 0; // only FORCE shows a debt
        return List.of(d.granted().longValue(), limit.tokens().longValue(), left, rounded(d.delay()), rounded(d.reset()));
    }

    /** RL.REFUND: the tokens left, or null. */
    static @Nullable Object refund(Store store, String key, String tokens) {
        BigInteger n = FakeLimit.number(tokens, 0);
        Held held = store.held(key);
        if (held == null) {
            return null;
        }
        BigInteger left = store.look(key, held.limit()).remaining();
        BigInteger back = n.min(held.limit().tokens().subtract(left));
        store.keep(key, held.limit(), refunded(held, back));
        return left.add(back).longValue();
    }

    private static State refunded(Held held, BigInteger back) {
        if (held.state() instanceof Bucket bucket) {
            return new Bucket(bucket.full().minus(held.limit().interval().times(back)));
        }
        if (held.state() instanceof Window window) {
            return new Window(window.end(), window.taken().subtract(back));
        }
        throw Replies.errorOf("ERR the fake server refunds token buckets and fixed windows");
    }

    /** CC.RELEASE: 1 if the holder had a place. */
    static long release(Store store, String key, String holder) {
        Held held = store.held(key);
        if (held == null || !(held.state() instanceof Places places) || places.ends().getOrDefault(holder, BigInteger.ZERO).compareTo(store.now()) <= 0) {
            return 0;
        }
        Map<String, BigInteger> ends = new TreeMap<>(places.ends());
        ends.remove(holder);
        store.keep(key, held.limit(), new Places(ends));
        return 1;
    }
}
