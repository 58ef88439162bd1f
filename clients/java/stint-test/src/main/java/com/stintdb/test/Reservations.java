package com.stintdb.test;

import com.stintdb.client.Algorithm;
import com.stintdb.client.internal.Replies;
import com.stintdb.test.Decision.Ask;
import com.stintdb.test.State.Adaptive;
import com.stintdb.test.State.Counters;
import com.stintdb.test.State.Grant;
import com.stintdb.test.State.Log;
import com.stintdb.test.State.Meter;
import com.stintdb.test.State.Places;
import com.stintdb.test.State.Window;
import com.stintdb.test.Store.Held;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** The reservations of a server in memory, by their ids. */
final class Reservations {
    /** A limit of a reservation. */
    static final class Part {
        final String key;
        final FakeLimit limit;
        final boolean hasCost;
        final BigInteger mark; // the window, or the time, in which the tokens were taken
        BigInteger charged;

        Part(String key, FakeLimit limit, boolean hasCost, BigInteger charged, BigInteger mark) {
            this.key = key;
            this.limit = limit;
            this.hasCost = hasCost;
            this.charged = charged;
            this.mark = mark;
        }
    }

    /** A grant that is remembered under an id: the words of the request, and the beginning of the reply. */
    static final class Reservation {
        final List<String> request;
        final BigInteger end; // nanoseconds since 1970
        final List<Object> answer;
        final List<Part> parts;
        boolean isSettled;

        Reservation(List<String> request, BigInteger end, List<Object> answer, List<Part> parts) {
            this.request = request;
            this.end = end;
            this.answer = answer;
            this.parts = parts;
        }
    }

    private final Map<String, Reservation> ids = new HashMap<>();
    private final Store store;

    Reservations(Store store) {
        this.store = store;
    }

    /** The reservation of an id, until its end. */
    @Nullable Reservation held(String id) {
        Reservation held = ids.get(id);
        return held != null && held.end.compareTo(store.now()) > 0 ? held : null;
    }

    void keep(String id, Reservation reservation) {
        ids.put(id, reservation);
    }

    /** Forgets an id. It returns whether there was something to forget. */
    boolean delete(String id) {
        boolean had = held(id) != null;
        ids.remove(id);
        return had;
    }

    /** RL.SETTLE. */
    @Nullable Object settle(String id, List<String> amounts) {
        boolean isList = amounts.get(0).equals("COSTS");
        List<String> costs = isList ? amounts.subList(1, amounts.size()) : List.of();
        BigInteger tokens = isList ? BigInteger.ZERO : FakeLimit.number(amounts.get(0), 0);
        return charge(id, parts -> {
            if (isList && costs.size() != parts.size()) {
                throw Replies.errorOf("ERR COSTS: the reservation has " + parts.size() + " limits, got " + costs.size() + " amounts");
            }
            List<BigInteger> all = new ArrayList<>();
            for (int i = 0; i < parts.size(); i++) {
                Part part = parts.get(i);
                boolean isKept = isList ? costs.get(i).equals("-") : part.hasCost;
                all.add(isKept ? part.charged : isList ? FakeLimit.number(costs.get(i), 0) : tokens);
            }
            return all;
        });
    }

    /** RL.CANCEL. */
    @Nullable Object cancel(String id) {
        return charge(id, parts -> parts.stream().map(part -> BigInteger.ZERO).toList());
    }

    private @Nullable Object charge(String id, Function<List<Part>, List<BigInteger>> amountsOf) {
        Reservation held = held(id);
        if (held == null) {
            return null;
        }
        List<BigInteger> given = amountsOf.apply(held.parts);
        List<BigInteger> amounts = new ArrayList<>();
        boolean isOther = false;
        for (int i = 0; i < given.size(); i++) {
            Part part = held.parts.get(i);
            amounts.add(part.limit.algorithm() == Algorithm.CONCURRENCY ? BigInteger.ZERO : given.get(i)); // places end
            isOther |= !part.charged.equals(amounts.get(i));
        }
        if (held.isSettled && isOther) {
            throw Replies.errorOf("ERR id: it was settled or canceled with other amounts; nothing was changed");
        }
        List<Object> charges = new ArrayList<>();
        for (int i = 0; i < amounts.size() && !held.isSettled; i++) {
            recharge(held.parts.get(i), amounts.get(i));
        }
        held.isSettled = true;
        for (Part part : held.parts) {
            FakeLimit present = presentLimit(part.key, part.limit);
            Decision state = store.look(part.key, present);
            charges.add(List.of(part.charged.longValue(), present.tokens().longValue(), state.remaining().longValue(), Commands.rounded(state.reset())));
        }
        return charges;
    }

    /** Takes what is missing, also if it is not there, or gives back what was not used. */
    private void recharge(Part part, BigInteger amount) {
        FakeLimit limit = presentLimit(part.key, part.limit);
        BigInteger more = amount.subtract(part.charged);
        if (more.signum() > 0) {
            store.keep(part.key, limit, store.ask(part.key, limit, new Ask(more, "FORCE", BigInteger.ZERO)).state());
        }
        Held held = more.signum() < 0 ? store.held(part.key) : null;
        if (held != null && held.limit().algorithm() == limit.algorithm()) {
            store.keep(part.key, limit, returned(limit, held.state(), more.negate(), part.mark));
        }
        part.charged = amount;
    }

    /** The limit that a key is held to now, if it is one of the same algorithm. */
    private FakeLimit presentLimit(String key, FakeLimit limit) {
        Held held = store.held(key);
        return held != null && held.limit().algorithm() == limit.algorithm() ? held.limit().withHolder(limit.holder()) : limit;
    }

    /** The window or the time of the tokens that a state was given last. */
    static BigInteger markOf(@Nullable State state, BigInteger now) {
        return state instanceof Window window ? window.end() : state instanceof Counters counters ? counters.number() : now;
    }

    /** A state after tokens were given back to the window that they were taken from. */
    private static State returned(FakeLimit limit, State state, BigInteger back, BigInteger mark) {
        if (state instanceof Meter meter) {
            return new Meter(meter.full().minus(limit.interval().times(back)));
        }
        if (state instanceof Adaptive adaptive) {
            return AdaptiveLimits.givenBack(limit, adaptive, back);
        }
        if (state instanceof Window window) {
            return window.end().equals(mark) ? new Window(window.end(), less(window.taken(), back)) : state;
        }
        if (state instanceof Log log) {
            return new Log(log.grants().stream()
                    .map(grant -> grant.at().equals(mark) ? new Grant(grant.at(), less(grant.tokens(), back)) : grant)
                    .filter(grant -> grant.tokens().signum() > 0)
                    .toList());
        }
        if (state instanceof Counters counters) {
            if (counters.number().equals(mark)) {
                return new Counters(mark, less(counters.current(), back), counters.before());
            }
            boolean isBefore = counters.number().subtract(BigInteger.ONE).equals(mark);
            return isBefore ? new Counters(counters.number(), counters.current(), less(counters.before(), back)) : state;
        }
        Map<String, BigInteger> ends = new TreeMap<>(((Places) state).ends());
        ends.remove(limit.holder());
        return new Places(ends);
    }

    private static BigInteger less(BigInteger taken, BigInteger back) {
        return taken.subtract(back).max(BigInteger.ZERO);
    }
}
