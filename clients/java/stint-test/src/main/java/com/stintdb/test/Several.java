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
import java.util.LinkedList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.BiFunction;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The commands about several limits. */
final class Several {
    /** One of several limits. Without a cost it is asked for the tokens of the request. */
    record Part(String key, FakeLimit limit, @Nullable BigInteger cost, boolean isElse) {
        Part(String key, FakeLimit limit) {
            this(key, limit, null, false);
        }

        Part cost(BigInteger tokens) {
            return new Part(key, limit, tokens, isElse);
        }

        /** Whether it gives what it can, and a balance after ELSE the rest. */
        boolean isIncluded() {
            return !isElse && cost == null && (limit.algorithm() != Algorithm.CONCURRENCY && limit.algorithm() != Algorithm.BALANCE);
        }
    }

    /** What is asked of several limits. */
    private static final class Options {
        BigInteger tokens = BigInteger.ONE;
        boolean isPeek;
        boolean isSplit;
        boolean isElse; // of the limits that follow
        BigInteger maxWait = BigInteger.ZERO;

        void read(String word, Deque<String> words, String command) {
            switch (word) {
                case "PEEK" -> isPeek = true;
                case "SPLIT" -> isSplit = true;
                case "ELSE" -> isElse = true;
                case "WARN" -> {} // which no limit here shows
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
        LinkedList<String> words = new LinkedList<>(given);
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
                parts.add(new Part(key, FakeLimit.read(algorithm, own, words), null, options.isElse));
            } else if (word.equals("TOKENS")) {
                options.tokens = FakeLimit.number(next(words), 1);
            } else if (word.equals("COST") && last != null) {
                parts.set(parts.size() - 1, last.cost(FakeLimit.number(next(words), 0)));
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
    private List<Object> take(List<Part> given, Options options) {
        mustBeValid(given);
        List<Part> parts = divided(given, options);
        List<Decision> decisions = new ArrayList<>();
        int binding = -1;
        for (Part part : parts) {
            BigInteger cost = costOf(part, options);
            Decision decision = store.ask(part.key, part.limit, new Ask(cost, "", options.maxWait)); // windows take no account of it
            decisions.add(decision);
            if (cost.signum() > 0 && !decision.isGranted() && (binding < 0 || Fraction.isLonger(decision.delay(), decisions.get(binding).delay()))) {
                binding = decisions.size() - 1;
            }
        }
        if (binding >= 0 && given.get(binding).isElse) {
            binding = bindElse(given, decisions, options.tokens.subtract(decisions.get(binding).remaining().max(BigInteger.ZERO)));
        }
        Fraction delay = binding < 0 ? Fraction.ZERO : decisions.get(binding).delay();
        List<Object> states = new ArrayList<>();
        for (int i = 0; i < parts.size(); i++) {
            Part part = parts.get(i);
            boolean isTaken = binding < 0 && costOf(part, options).signum() > 0;
            Decision decision = isTaken ? decisions.get(i) : store.look(part.key, part.limit);
            boolean isSplit = options.isSplit && parts.get(parts.size() - 1).limit.algorithm() == Algorithm.BALANCE;
            states.add(stateOf(decision, isSplit));
            if (isTaken && Fraction.isLonger(decision.delay(), delay)) {
                delay = decision.delay();
            }
            if (isTaken && !options.isPeek) {
                store.keep(part.key, part.limit, decision.state());
            }
        }
        return List.of(binding < 0 ? options.tokens.longValue() : 0L, (long) binding, Commands.rounded(delay), states);
    }

    private static void mustBeValid(List<Part> parts) {
        Set<String> keys = new HashSet<>();
        for (Part part : parts) {
            if (!keys.add(part.key)) {
                throw Replies.errorOf("ERR spec: the same key twice; each limit needs a different key");
            }
            if (part.limit.algorithm() == Algorithm.BALANCE && part != parts.get(parts.size() - 1)) {
                throw Replies.errorOf("ERR BAL: must be the last limit");
            }
        }
    }

    /** The parts, of which those before ELSE are asked for what they can give, and the balance for the rest. */
    private List<Part> divided(List<Part> parts, Options options) {
        if (parts.isEmpty() || !parts.get(parts.size() - 1).isElse) {
            return parts;
        }
        BigInteger given = options.tokens;
        for (Part part : parts) {
            if (part.isIncluded()) {
                given = given.min(store.ask(part.key, part.limit, new Ask(options.tokens, "UPTO", BigInteger.ZERO)).granted());
            }
        }
        BigInteger most = given;
        return parts.stream().map(part -> part.isIncluded() ? part.cost(most) : part.isElse ? part.cost(options.tokens.subtract(most)) : part).toList();
    }

    /** The limit that takes longest to give what the balance lacks, or the balance if one never can. */
    private int bindElse(List<Part> parts, List<Decision> decisions, BigInteger lacking) {
        int last = parts.size() - 1;
        int binding = last;
        for (int i = 0; i < last; i++) {
            Part part = parts.get(i);
            if (part.isIncluded()) {
                decisions.set(i, store.ask(part.key, part.limit, new Ask(lacking)));
            }
            Decision decision = decisions.get(i);
            if (decision.isGranted() || BigInteger.ZERO.equals(part.cost)) {
                continue;
            }
            if (decision.delay() == null && part.isIncluded()) {
                return last;
            }
            if (binding == last || Fraction.isLonger(decision.delay(), decisions.get(binding).delay())) {
                binding = i;
            }
        }
        return binding;
    }

    private static BigInteger costOf(Part part, Options options) {
        BigInteger cost = part.cost == null ? options.tokens : part.cost;
        return part.limit.algorithm() == Algorithm.CONCURRENCY ? cost.min(BigInteger.ONE) : cost; // a place is one
    }

    /** The limit, the tokens that remain, and the time until all are back; if it is split, no warning and the tokens granted. */
    private static List<Object> stateOf(Decision d, boolean isSplit) {
        List<Object> state = List.of(d.limit().longValue(), Math.max(0, d.remaining().longValue()), Commands.rounded(d.reset()));
        return isSplit ? Stream.concat(state.stream(), Stream.of(-1L, d.granted().longValue())).toList() : state;
    }
}
