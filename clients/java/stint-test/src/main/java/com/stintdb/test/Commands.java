package com.stintdb.test;

import com.stintdb.client.Algorithm;
import com.stintdb.client.internal.Rates;
import com.stintdb.client.internal.Replies;
import com.stintdb.test.Decision.Ask;
import com.stintdb.test.State.Bucket;
import com.stintdb.test.State.Credits;
import com.stintdb.test.State.Places;
import com.stintdb.test.State.Segments;
import com.stintdb.test.State.Window;
import com.stintdb.test.Store.Held;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Arrays;
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
            Algorithm.SLIDING_WINDOW, Set.of("PEEK", "UPTO", "FORCE"),
            Algorithm.BALANCE, Set.of("PEEK", "UPTO", "FORCE"),
            Algorithm.CONCURRENCY, Set.of("PEEK"));

    private static final FakeLimit BALANCE = FakeLimit.read(Algorithm.BALANCE, List.of(), List.of());

    private Commands() {}

    /** A time in a reply: milliseconds rounded up, and -1 for never. */
    static long rounded(@Nullable Fraction time) {
        return time == null ? -1 : time.over(Fraction.of(MILLISECOND)).ceil().longValue();
    }

    /** The command of an algorithm. Words are those after its name. */
    static List<Object> acquire(Store store, Algorithm algorithm, List<String> words) {
        List<String> rest = new ArrayList<>(words.subList(1 + FakeLimit.length(algorithm), words.size()));
        BigInteger n = algorithm == Algorithm.CONCURRENCY || rest.isEmpty() ? BigInteger.ONE : FakeLimit.number(rest.remove(0), 0);
        FakeLimit limit = FakeLimit.read(algorithm, words.subList(1, words.size()), rest);
        String option = rest.isEmpty() ? "" : rest.get(0);
        if (!option.isEmpty() && !OPTIONS.getOrDefault(algorithm, Set.of()).contains(option)) {
            throw FakeLimit.lacks(option + " in " + algorithm.command());
        }
        BigInteger maxWait = option.equals("MAXWAIT") ? Rates.duration(rest.size() > 1 ? rest.get(1) : "") : BigInteger.ZERO;
        Decision d = store.ask(words.get(0), limit, new Ask(n, option, maxWait));
        if (d.isGranted() && !option.equals("PEEK")) {
            store.keep(words.get(0), limit, d.state());
        }
        long left = d.remaining().signum() > 0 || option.equals("FORCE") ? d.remaining().longValue() : 0; // only FORCE shows a debt
        return List.of(d.granted().longValue(), d.limit().longValue(), left, rounded(d.delay()), rounded(d.reset()));
    }

    /** RL.REFUND: the tokens left, or null. */
    static @Nullable Object refund(Store store, String key, String tokens) {
        BigInteger n = FakeLimit.number(tokens, 0);
        Held held = store.held(key);
        if (held == null) {
            return null;
        }
        Decision present = store.look(key, held.limit());
        BigInteger left = present.remaining();
        BigInteger back = n.min(present.limit().subtract(left));
        store.keep(key, held.limit(), refunded(held, back, store.now()));
        return left.add(back).longValue();
    }

    private static State refunded(Held held, BigInteger back, BigInteger now) {
        if (held.state() instanceof Bucket bucket) {
            return new Bucket(bucket.full().minus(held.limit().interval().times(back)));
        }
        if (held.state() instanceof Window state) {
            Window window = Windows.at(held.limit(), state, now);
            return new Window(window.end(), window.taken().subtract(back), window.before());
        }
        if (held.state() instanceof Segments segments) {
            return Windows.without(segments, back);
        }
        if (held.state() instanceof Credits credits) {
            return new Credits(credits.added(), credits.spent().subtract(back));
        }
        throw Replies.errorOf("ERR the fake server refunds no places");
    }

    /** BAL.ADD: the credits of the payment, which are added once, and the balance. Payments are those that were added, by their ids. */
    static List<Object> addCredits(Store store, Map<String, List<String>> payments, List<String> words) {
        if (words.size() > 4) {
            throw FakeLimit.lacks("EXPIRE in BAL.ADD");
        }
        BigInteger n = FakeLimit.number(words.get(1), 1);
        Credits credits = store.state(words.get(0), BALANCE) instanceof Credits c ? c : new Credits(BigInteger.ZERO, BigInteger.ZERO);
        List<String> payment = words.subList(0, 2);
        List<String> earlier = payments.putIfAbsent(words.get(3), List.copyOf(payment));
        if (earlier == null) {
            credits = new Credits(credits.added().add(n), credits.spent());
            store.keep(words.get(0), BALANCE, credits);
        } else if (!earlier.equals(payment)) {
            throw Replies.errorOf("ERR AS: the id was used for a request with other parameters; nothing was taken");
        }
        return List.of(n.longValue(), credits.added().subtract(credits.spent()).longValue());
    }

    /** BAL.INFO: a balance and its grants, or null. */
    static @Nullable Object credits(Store store, String key) {
        if (!(store.state(key, BALANCE) instanceof Credits credits)) {
            return null;
        }
        long left = credits.added().subtract(credits.spent()).longValue();
        return List.of("balance", left, "grants", left > 0 ? List.of(Arrays.asList(left, null)) : List.of());
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
