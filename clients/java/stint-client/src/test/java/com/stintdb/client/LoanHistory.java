package com.stintdb.client;

import com.stintdb.client.Purse.Moment;
import com.stintdb.client.Purse.Operation;
import com.stintdb.client.UnavailableException.Reason;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.PriorityQueue;
import java.util.Random;

/** Random events on one key: processes that spend from purses, lost and late messages, stops, sleeps and crashes, and others who take and give. */
final class LoanHistory {
    /** A defect of a holder or of the server that a history must find. */
    enum Fault {
        NONE,
        SPENDS_PAST_THE_END_OF_THE_LOAN,
        DOES_NOT_SEE_THAT_THE_MACHINE_SLEPT,
        USES_LATE_ANSWERS,
        TAKES_ANY_NUMBER_FOR_THE_LAST
    }

    private static final class Holder {
        final String name;
        final Purse purse;
        long waits; // the number of the operation whose answer it waits for
        long stopped; // until then
        long slept;

        Holder(String name, Fault fault) {
            this.name = name;
            this.purse = new Purse(name, fault == Fault.SPENDS_PAST_THE_END_OF_THE_LOAN ? Double.POSITIVE_INFINITY : Purse.SPEND_FOR);
        }
    }

    private record Event(long at, long serial, Runnable happen) {}

    private final Random random;
    private final Limit limit;
    private final Fault fault;
    final LoanModel model;
    private final Holder[] holders = new Holder[2];
    private final PriorityQueue<Event> events = new PriorityQueue<>(Comparator.comparingLong(Event::at).thenComparingLong(Event::serial));
    private long now;
    private long serial;
    private long direct; // tokens granted to others, of which some come back

    // How often something happened.
    long spent;
    long ignored;
    long lost;
    long late;

    LoanHistory(long seed, Limit limit, Fault fault) {
        this.random = new Random(seed);
        this.limit = limit;
        this.fault = fault;
        this.model = new LoanModel(limit);
        Arrays.setAll(holders, i -> new Holder("holder" + ++serial, fault));
    }

    private Moment clock(Holder p) {
        long monotonic = now - p.slept;
        return new Moment(monotonic, fault == Fault.DOES_NOT_SEE_THAT_THE_MACHINE_SLEPT ? monotonic : now);
    }

    private void after(long delay, Runnable happen) {
        events.add(new Event(now + delay, ++serial, happen));
    }

    private int below(long bound) {
        return random.nextInt((int) bound);
    }

    /** Mostly short, and now and then that of a pause or a cut. */
    private long delay() {
        return switch (below(20)) {
            case 0 -> below(3000);
            case 1, 2 -> below(200);
            default -> below(5);
        };
    }

    void step() {
        long until = now + below(30) + (below(100) == 0 ? below(15_000) : 0);
        while (!events.isEmpty() && events.element().at <= until) {
            Event event = events.remove();
            now = event.at;
            event.happen.run();
        }
        now = until;
        int i = below(holders.length);
        int kind = below(100);
        Holder p = holders[i];
        if (kind >= 98) {
            model.reset(now);
            direct = 0;
        } else if (kind >= 90) {
            others();
        } else if (now < p.stopped) {
            return;
        } else if (kind < 45) {
            spend(p);
        } else if (kind < 80) {
            send(p, kind < 75);
        } else if (kind < 82) {
            stop(p);
        } else if (kind < 83) { // a crash
            holders[i] = new Holder("holder" + ++serial, fault);
        }
    }

    private void spend(Holder p) {
        long most = Math.max(1, p.purse.tokens());
        long n = below(2) == 0 ? 1 + below(most) : most;
        if (p.purse.spend(clock(p), n)) {
            spent += n;
            model.spend(now, n);
        }
    }

    /** The process is stopped, or the machine sleeps. */
    private void stop(Holder p) {
        while (below(2) == 0) {
            p.stopped = Math.max(p.stopped, now) + below(30_000);
        }
        if (p.stopped > now && below(2) == 0) {
            p.slept += p.stopped - now;
        }
    }

    /** Others take tokens from the server, give some back, and change the rate. */
    private void others() {
        if (below(3) < 2) {
            long n = model.acquire(now, 1 + below(limit.capacity()));
            direct += n;
            if (n > 0) {
                after(10 * delay(), () -> {
                    long back = Math.min(direct, 1 + below(n));
                    direct -= back;
                    model.giveBack(now, back);
                });
            }
        } else if (limit.algorithm() == Algorithm.TOKEN_BUCKET) {
            Duration period = Duration.ofMillis((long) limit.periodMs());
            model.turn(now, Limit.per(1 + below(20 * (long) limit.count()), period).burst(limit.capacity()));
            after(delay(), () -> model.turn(now, limit));
        }
    }

    /** Sends an operation of a holder. It gives up on some, which the server gets all the same, or never. */
    private void send(Holder p, boolean isLend) {
        if (p.waits != 0) {
            return;
        }
        Key key = Key.of("k");
        Operation op = isLend ? p.purse.lend(clock(p), key, limit, 1 + below(limit.capacity())) : p.purse.giveBack(clock(p), key);
        p.waits = op.number();
        long arrives = delay();
        long returns = delay();
        if (below(4) == 0) {
            lost++;
            after(below(20), () -> giveUp(p, op));
            if (below(4) == 0) {
                return;
            }
            arrives += below(1000);
            returns += below(3000);
        }
        long way = returns;
        after(arrives, () -> {
            Object reply;
            try {
                reply = model.operate(now, wordsOf(p, op), limit);
            } catch (StintException e) {
                reply = e;
            }
            Object answer = reply;
            after(way, () -> arrive(p, op, answer));
        });
    }

    private List<String> wordsOf(Holder p, Operation op) {
        List<String> words = new ArrayList<>();
        for (byte[] word : op.words().done()) {
            words.add(new String(word, StandardCharsets.UTF_8));
        }
        long[] held = model.loanOf(p.name);
        if (fault == Fault.TAKES_ANY_NUMBER_FOR_THE_LAST && held != null) {
            int stated = op.isReturn() ? 5 : 10;
            words.set(op.isReturn() ? 4 : 8, Long.toString(held[0]));
            words.set(stated, Long.toString(Math.min(Long.parseLong(words.get(stated)), held[1])));
        }
        return words;
    }

    private void giveUp(Holder p, Operation op) {
        if (p.waits == op.number()) {
            p.waits = 0;
            if (now >= p.stopped) {
                p.purse.hearFailure(new UnavailableException(Reason.TIMEOUT, "no reply"));
            }
        }
    }

    /** A process hears an answer, when it runs. */
    private void arrive(Holder p, Operation op, Object reply) {
        boolean isAwaited = p.waits == op.number();
        if (now < p.stopped) {
            late++;
            after(p.stopped - now, () -> arrive(p, op, reply));
        } else if (isAwaited || (fault == Fault.USES_LATE_ANSWERS && !op.isReturn() && !(reply instanceof StintException))) {
            p.waits = isAwaited ? 0 : p.waits;
            try {
                if (reply instanceof StintException e) {
                    throw e;
                }
                ignored += p.purse.hear(op, reply).isIgnored() ? 1 : 0;
            } catch (StintException e) {
                p.purse.hearFailure(e);
            }
        }
    }
}
