package com.stintdb.test;

import com.stintdb.client.Algorithm;
import com.stintdb.client.internal.Rates;
import com.stintdb.client.internal.Replies;
import com.stintdb.test.Decision.Ask;
import com.stintdb.test.Reservations.Reservation;
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
    /** One of several limits. Without a cost it is asked for the tokens of the request. The keep is the word of KEEP. */
    record Part(String key, FakeLimit limit, @Nullable BigInteger cost, @Nullable String keep) {
        Part(String key, FakeLimit limit) {
            this(key, limit, null, null);
        }
    }

    /** What is asked of several limits. */
    private static final class Options {
        BigInteger tokens = BigInteger.ONE;
        boolean isPeek;
        BigInteger maxWait = BigInteger.ZERO;
        @Nullable String id;
        BigInteger remember = BigInteger.ZERO;

        void read(String word, Deque<String> words, String command) {
            switch (word) {
                case "PEEK" -> isPeek = true;
                case "WARN" -> {} // limits have no thresholds here
                case "AS" -> id = next(words);
                case "FOR" -> remember = Rates.duration(next(words));
                case "MAXWAIT" -> maxWait = Rates.duration(next(words));
                default -> throw Replies.errorOf("ERR the fake server has no " + word + " in " + command);
            }
        }
    }

    private final Store store;
    private final Reservations reservations;

    Several(Store store, Reservations reservations) {
        this.store = store;
        this.reservations = reservations;
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
                parts.set(parts.size() - 1, new Part(last.key, last.limit, FakeLimit.number(next(words), 0), last.keep));
            } else if (word.equals("KEEP") && last != null) {
                parts.set(parts.size() - 1, new Part(last.key, last.limit, last.cost, next(words)));
            } else {
                options.read(word, words, "RL.ALL");
            }
        }
        return once("RL.ALL", given, parts, options);
    }

    /** RL.CHECK, of the limits that a policy has for the names of a caller. */
    List<Object> check(List<String> given, BiFunction<String, Map<String, String>, List<Part>> limitsOf) {
        Deque<String> words = new ArrayDeque<>(given);
        String policy = next(words);
        Map<String, String> names = new HashMap<>(Map.of("", next(words)));
        Options options = new Options();
        options.tokens = words.isEmpty() ? BigInteger.ONE : FakeLimit.number(words.remove(), 1);
        String keep = null;
        while (!words.isEmpty()) {
            String word = words.remove();
            if (word.equals("KEEP")) {
                keep = next(words);
            } else if (word.equals("WITH")) {
                while (!words.isEmpty()) {
                    names.put(words.remove(), next(words));
                }
            } else {
                options.read(word, words, "RL.CHECK");
            }
        }
        List<Part> parts = new ArrayList<>();
        for (Part part : limitsOf.apply(policy, names)) {
            parts.add(keep != null && keeps(part.limit.algorithm()) ? new Part(part.key, part.limit, part.cost, keep) : part);
        }
        return once("RL.CHECK", given, parts, options);
    }

    private static boolean keeps(Algorithm algorithm) {
        return switch (algorithm) {
            case LEAKY_QUEUE, CONCURRENCY, FAIR_SHARE, ADAPTIVE -> false;
            default -> true;
        };
    }

    /** Takes tokens unless the request has an id under which it was granted already. */
    private List<Object> once(String name, List<String> given, List<Part> parts, Options options) {
        List<String> request = new ArrayList<>(List.of(name));
        request.addAll(given);
        if (options.isPeek && options.id != null) {
            throw Replies.errorOf("ERR PEEK: cannot be combined with AS");
        }
        Reservation held = options.id == null ? null : reservations.held(options.id);
        if (held != null && !held.request.equals(request)) {
            throw Replies.errorOf("ERR AS: the id was used for a request with other parameters; nothing was taken");
        }
        List<Object> reply = new ArrayList<>();
        if (held != null) {
            reply.addAll(held.answer);
            reply.add(held.parts.stream().map(part -> (Object) stateOf(part.limit, store.look(part.key, part.limit))).toList());
            return reply;
        }
        List<Reservations.Part> taken = new ArrayList<>();
        List<Object> states = new ArrayList<>();
        reply.addAll(take(parts, options, states, taken));
        if (options.id != null && !reply.get(0).equals(0L)) {
            reservations.keep(options.id, new Reservation(request, store.now().add(options.remember), List.copyOf(reply), taken));
        }
        reply.add(states);
        return reply;
    }

    /** Takes tokens of each limit, or of none. It returns the beginning of the reply, and adds the states and what was taken. */
    private List<Object> take(List<Part> parts, Options options, List<Object> states, List<Reservations.Part> taken) {
        Set<String> keys = new HashSet<>();
        List<Decision> decisions = new ArrayList<>();
        int binding = -1;
        Fraction delay = Fraction.ZERO;
        for (Part part : parts) {
            if (!keys.add(part.key)) {
                throw Replies.errorOf("ERR spec: the same key twice; each limit needs a different key");
            }
            BigInteger cost = costOf(part, options);
            Decision decision = decide(part, cost, options);
            if (cost.signum() > 0 && !decision.isGranted() && (binding < 0 || Fraction.isLonger(decision.delay(), delay))) {
                binding = decisions.size();
                delay = decision.delay();
            }
            decisions.add(decision);
        }
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
            BigInteger mark = Reservations.markOf(decision.state(), store.now());
            taken.add(new Reservations.Part(part.key, part.limit, part.cost != null, decision.granted(), mark));
        }
        return List.of(binding < 0 ? options.tokens.longValue() : 0L, (long) binding, Commands.rounded(delay));
    }

    private static BigInteger costOf(Part part, Options options) {
        BigInteger cost = part.cost == null ? options.tokens : part.cost;
        return part.limit.algorithm() == Algorithm.CONCURRENCY ? cost.min(BigInteger.ONE) : cost; // a place is one
    }

    /** Decides on tokens of one of several limits. */
    private Decision decide(Part part, BigInteger n, Options options) {
        String key = part.key;
        FakeLimit limit = part.limit;
        if (part.keep != null) {
            Decision all = store.ask(key, limit, new Ask(n.add(kept(part.keep, limit.tokens())))); // with those that must remain
            return all.isGranted() ? store.ask(key, limit, new Ask(n)) : all;
        }
        boolean isQueue = limit.algorithm() == Algorithm.LEAKY_QUEUE;
        Decision decision = store.ask(key, limit, new Ask(n, "", isQueue ? BigInteger.ZERO : options.maxWait)); // windows take no account of it
        if (options.maxWait.signum() == 0 || !isQueue || decision.delay() == null) {
            return decision;
        }
        Decision queue = store.look(key, limit);
        Fraction excess = queue.reset().minus(Fraction.of(options.maxWait)); // the time until there is a place that is near enough
        if (excess.sign() <= 0) {
            return decision;
        }
        Fraction delay = decision.isGranted() ? excess : Fraction.later(decision.delay(), excess);
        return Decision.denied(queue.remaining(), delay, queue.reset(), queue.state());
    }

    /** The number of tokens that must remain. */
    private static BigInteger kept(String keep, BigInteger tokens) {
        return keep.endsWith("%")
                ? Fraction.of(tokens.multiply(AdaptiveLimits.thousandths(keep)), BigInteger.valueOf(100_000)).ceil()
                : FakeLimit.number(keep, 0);
    }

    /** The limit, the tokens that remain, and the time until all are back. */
    private static List<Object> stateOf(FakeLimit limit, Decision decision) {
        return List.of(limit.tokens().longValue(), Math.max(0, decision.remaining().longValue()), Commands.rounded(decision.reset()));
    }
}
