package com.stintdb.client;

import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** A server with one key in exact arithmetic, and an exact limiter beside it that counts every token when it is spent. Times are whole milliseconds. */
final class LoanModel {
    /** The tokens taken of a token bucket or of aligned windows. */
    private static final class Counter {
        Limit limit;
        private long fullAt; // of a bucket, in count-ths of a millisecond
        private long window; // the number of the window
        private long used; // in it

        Counter(Limit limit) {
            this.limit = limit;
        }

        long taken(long now) {
            if (limit.algorithm() == Algorithm.FIXED_WINDOW) {
                long present = now / period();
                if (present != window) {
                    window = present;
                    used = 0;
                }
                return used;
            }
            fullAt = Math.max(fullAt, now * count());
            return -Math.floorDiv(-(fullAt - now * count()), period());
        }

        void take(long now, long n) {
            long taken = taken(now);
            fullAt += n * period();
            used = Math.max(0, taken + n);
            taken(now);
        }

        /** Gives it another rate with the same period: the usage carries over. */
        void turn(long now, Limit other) {
            taken(now);
            fullAt = now * (long) other.count() + fullAt - now * count();
            limit = other;
        }

        private long count() {
            return (long) limit.count();
        }

        private long period() {
            return (long) limit.periodMs();
        }
    }

    private record Loan(long tokens, long until, long number) {}

    private final Counter counter;
    private final Counter exact;
    private final Map<String, Loan> lent = new HashMap<>();
    /** Tokens that the exact limiter would not have granted. */
    long excess;

    LoanModel(Limit limit) {
        counter = new Counter(limit);
        exact = new Counter(limit);
    }

    /** The number of the last operation on a holder's loan, and its tokens; null if it has none. */
    long[] loanOf(String holder) {
        Loan loan = lent.get(holder);
        return loan == null ? null : new long[] {loan.number, loan.tokens};
    }

    /** Counts tokens in the exact limiter. */
    void spend(long now, long n) {
        exact.take(now, n);
        excess = Math.max(excess, exact.taken(now) - counter.limit.capacity());
    }

    /** Ends loans whose time is over. */
    private void end(long now) {
        List<Map.Entry<String, Loan>> over =
                lent.entrySet().stream().filter(each -> each.getValue().until <= now).sorted(Comparator.comparing(each -> each.getValue().until)).toList();
        for (Map.Entry<String, Loan> each : over) {
            counter.take(each.getValue().until, each.getValue().tokens);
            lent.remove(each.getKey());
        }
    }

    private long available(long now) {
        end(now);
        long all = lent.values().stream().mapToLong(Loan::tokens).sum();
        return Math.max(0, counter.limit.capacity() - counter.taken(now) - all);
    }

    void turn(long now, Limit limit) {
        end(now);
        counter.turn(now, limit);
        exact.turn(now, limit);
    }

    long acquire(long now, long n) {
        long granted = n > available(now) ? 0 : n;
        counter.take(now, granted);
        spend(now, granted);
        return granted;
    }

    void giveBack(long now, long n) {
        end(now);
        counter.take(now, -n);
        exact.take(now, -n);
    }

    void reset(long now) {
        end(now);
        counter.take(now, -counter.taken(now));
        exact.take(now, -exact.taken(now));
    }

    /** Carries out RL.LEND or RL.RETURN. */
    List<Object> operate(long now, List<String> words, Limit limit) {
        end(now);
        boolean isReturn = words.get(0).equals("RL.RETURN");
        int at = isReturn ? 2 : 6;
        String holder = words.get(at);
        long number = Long.parseLong(words.get(at + 1));
        long previous = Long.parseLong(words.get(at + 2));
        long stated = Long.parseLong(words.get(isReturn ? 5 : 10));
        Loan held = lent.getOrDefault(holder, new Loan(0, 0, 0));
        if (held.number != previous) {
            return answer(now, 0, held);
        }
        if (stated > held.tokens) {
            throw new RefusedException("ERR the holder states more tokens than the " + held.tokens + " that are set aside for it");
        }
        lent.remove(holder);
        counter.take(now, held.tokens - stated);
        Loan none = new Loan(0, 0, 0);
        if (isReturn) {
            return answer(now, stated, none);
        }
        long most = Math.max(0, available(now) - stated) / 8;
        long granted = limit.equals(counter.limit) ? Math.min(Long.parseLong(words.get(5)), most) : 0;
        if (stated + granted == 0) {
            return answer(now, 0, none);
        }
        Loan loan = new Loan(stated + granted, now + 10_000, number);
        lent.put(holder, loan);
        return answer(now, granted, loan);
    }

    private List<Object> answer(long now, long granted, Loan loan) {
        return List.of(granted, counter.limit.capacity(), available(now), loan.tokens, loan.number);
    }
}
