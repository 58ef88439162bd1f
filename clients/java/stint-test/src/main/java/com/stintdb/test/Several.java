package com.stintdb.test;

import com.stintdb.client.Algorithm;
import com.stintdb.client.internal.Rates;
import com.stintdb.client.internal.Replies;
import com.stintdb.test.Decision.Ask;
import java.math.BigInteger;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.BiFunction;
import org.jspecify.annotations.Nullable;

/** The commands about several limits. */
final class Several {
    /** One of several limits. Without a cost it is asked for the tokens of the request. */
    record Part(String key, FakeLimit limit, @Nullable BigInteger cost) {
        Part(String key, FakeLimit limit) {
            this(key, limit, null);
        }
    }

    /** What is asked of several limits. */
    private static final class Options {
        BigInteger tokens = BigInteger.ONE;
        boolean isPeek;
        BigInteger maxWait = BigInteger.ZERO;

        void read(String word, Deque<String> words, String command) {
            switch (word) {
                case "PEEK" -> isPeek = true;
                case "WARN", "SPLIT" -> {} // which no limit here shows
                case "MAXWAIT" -> maxWait = Rates.duration(next(words));
                default -> throw FakeLimit.lacks(word + " in " + command);
            }
        }
    }

    private final Store store;

    Several(Store store) {
        this.store = store;
    }

    private static String next(Deque<String> words) {
        if (words.isEmpty()) {
            throw Replies.errorOf("ERR syntax error");
        }
        return words.remove();
    }

    /** RL.ALL. */
    List<Object> all(List<String> given) {
        Deque<String> words = new ArrayDeque<>(given);
        List<Part> parts = new ArrayList<>();
        Options options = new Options();
        while (!words.isEmpty()) {
            String word = words.remove();
            Algorithm algorithm = FakeLimit.ofSpec(word);
            Part last = parts.isEmpty() ? null : parts.get(parts.size() - 1);
            if (algorithm != null) {
                String key = next(words);
                List<String> own = new ArrayList<>();
                for (int left = FakeLimit.length(algorithm); left > 0; left--) {
                    own.add(next(words));
                }
                parts.add(new Part(key, FakeLimit.read(algorithm, own)));
            } else if (word.equals("TOKENS")) {
                options.tokens = FakeLimit.number(next(words), 1);
            } else if (word.equals("COST") && last != null) {
                parts.set(parts.size() - 1, new Part(last.key, last.limit, FakeLimit.number(next(words), 0)));
            } else {
                options.read(word, words, "RL.ALL");
            }
        }
        return take(parts, options);
    }

    /** RL.CHECK, of the limits that a policy has for the names of a caller. */
    List<Object> check(List<String> given, BiFunction<String, Map<String, String>, List<Part>> limitsOf) {
        Deque<String> words = new ArrayDeque<>(given);
        String policy = next(words);
        Map<String, String> names = new HashMap<>(Map.of("", next(words)));
        Options options = new Options();
        options.tokens = words.isEmpty() ? BigInteger.ONE : FakeLimit.number(words.remove(), 1);
        while (!words.isEmpty()) {
            String word = words.remove();
            if (word.equals("WITH")) {
                while (!words.isEmpty()) {
                    names.put(words.remove(), next(words));
                }
            } else {
                options.read(word, words, "RL.CHECK");
            }
        }
        return take(limitsOf.apply(policy, names), options);
    }

    /** Takes tokens of each limit, or of none. */
    private List<Object> take(List<Part> parts, Options options) {
        Set<String> keys = new HashSet<>();
        List<Decision> decisions = new ArrayList<>();
        int binding = -1;
        Fraction delay = Fraction.ZERO;
        for (Part part : parts) {
            if (!keys.add(part.key)) {
                throw Replies.errorOf("ERR spec: the same key twice; each limit needs a different key");
            }
            BigInteger cost = costOf(part, options);
            Decision decision = store.ask(part.key, part.limit, new Ask(cost, "", options.maxWait)); // windows take no account of it
            if (cost.signum() > 0 && !decision.isGranted() && (binding < 0 || Fraction.isLonger(decision.delay(), delay))) {
                binding = decisions.size();
                delay = decision.delay();
            }
            decisions.add(decision);
        }
        List<Object> states = new ArrayList<>();
        for (int i = 0; i < parts.size(); i++) {
            Part part = parts.get(i);
            Decision decision = decisions.get(i);
            boolean isTaken = binding < 0 && costOf(part, options).signum() > 0;
            states.add(stateOf(part.limit, isTaken ? decision : store.look(part.key, part.limit)));
            if (isTaken && Fraction.isLonger(decision.delay(), delay)) {
                delay = decision.delay();
            }
            if (isTaken && !options.isPeek) {
                store.keep(part.key, part.limit, decision.state());
            }
        }
        return List.of(binding < 0 ? options.tokens.longValue() : 0L, (long) binding, Commands.rounded(delay), states);
    }

    private static BigInteger costOf(Part part, Options options) {
        BigInteger cost = part.cost == null ? options.tokens : part.cost;
        return part.limit.algorithm() == Algorithm.CONCURRENCY ? cost.min(BigInteger.ONE) : cost; // a place is one
    }

    /** The limit, the tokens that remain, and the time until all are back. */
    private static List<Object> stateOf(FakeLimit limit, Decision decision) {
        return List.of(limit.tokens().longValue(), Math.max(0, decision.remaining().longValue()), Commands.rounded(decision.reset()));
    }
}
