package com.stintdb.client;

import com.stintdb.client.internal.Replies;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The tokens of a loan, by RL.LEND, where they are spent. The server counts all of them as taken until the holder states how many it has not spent, so the
 * limiter and the holders never grant more than the limit together, in spite of refunds, deletions and other rates meanwhile. A loan whose holder is silent
 * ends by itself and counts as spent then. The holder stops spending long before, so no token is spent later than it counts.
 *
 * <p>Operations follow one another: {@link #hear} takes the answer of one before the next is made. The server ignores an operation whose previous number is
 * not that of the last one it carried out. So an answer that was lost costs tokens, but no token is there twice. It is not safe for several threads.
 */
final class Purse {
    // Times of a loan, in milliseconds.
    static final long LOAN_FOR = 10_000; // after an operation, the server counts all of the loan as spent
    static final long SPEND_FOR = LOAN_FOR / 2; // tokens are spent for this time, by this process's clocks
    static final long RENEW_AFTER = SPEND_FOR / 2; // a loan in use is renewed

    private static final int MOST_REPEATS = 3; // of a return whose answer was lost

    /**
     * A reading of two clocks, in milliseconds: the monotonic one, which stands still while the machine sleeps, and the time of day, which may be set. Somebody
     * who sets the time of day back while the machine sleeps hides the sleep.
     */
    record Moment(double monotonic, long day) {
        static Moment now() {
            return read(System::nanoTime, System::currentTimeMillis);
        }

        /**
         * Reads both clocks. The process may be stopped between the readings: that can only make the age of an operation larger, so tokens are spent too short
         * a time, never too long. The time of day is read last, because it also shows a sleep between the readings.
         */
        static Moment read(LongSupplier nanoTime, LongSupplier timeOfDayMs) {
            double monotonic = nanoTime.getAsLong() / 1e6;
            return new Moment(monotonic, timeOfDayMs.getAsLong());
        }
    }

    /** An operation on a loan: its number, and that of the last one that the server has named. */
    record Operation(Words words, long number, long previous, boolean isReturn, Moment sentAt) {}

    /**
     * The server's answer to an operation.
     *
     * @param granted or returned
     * @param remaining for everybody else
     * @param isIgnored whether the server has named another last operation: the same may be asked again
     */
    record Answer(long granted, long remaining, boolean isIgnored) {}

    private final String holder;
    private final double spendsFor;
    private long tokens; // not spent
    private @Nullable Moment since; // when the last operation was sent that the server is known to have carried out
    private long number; // of the last operation that was sent
    private long known; // of the last operation that the server has named; 0 if there is no loan
    private long supplied; // tokens that were spent, and those that are left
    private @Nullable Operation unheard; // a return without an answer
    private int repeats; // of that return

    Purse(String holder) {
        this(holder, SPEND_FOR);
    }

    Purse(String holder, double spendsFor) {
        this.holder = holder;
        this.spendsFor = spendsFor;
    }

    /** Tokens that are not spent. */
    long tokens() {
        return tokens;
    }

    /** Tokens spent since the beginning. */
    long spent() {
        return supplied - tokens;
    }

    /** Whether the server may hold tokens for this loan. */
    boolean isOpen() {
        return known != 0;
    }

    /** Whether a return has had no answer. */
    boolean hasUnheard() {
        return unheard != null;
    }

    /** The age of the last operation in milliseconds, by the clock that shows more. */
    double age(Moment now) {
        return since == null ? Double.POSITIVE_INFINITY : Math.max(now.monotonic - since.monotonic, now.day - since.day);
    }

    /** Whether tokens may be spent. */
    boolean isValid(Moment now) {
        return age(now) < spendsFor;
    }

    /** Takes n tokens if there are as many. */
    boolean spend(Moment now, long n) {
        if (tokens < n || !isValid(now)) {
            return false;
        }
        tokens -= n;
        return true;
    }

    /** The operation that asks for more tokens, and renews the loan. */
    Operation lend(Moment now, Key key, Limit limit, long wanted) {
        if (!isValid(now)) {
            drop();
        }
        unheard = null; // it is too late
        number++;
        Words words = new Words("RL.LEND").add(key).add(limit.algorithm().spec()).addAll(limit.words()).add(wanted).add(holder);
        words.add(number).add(known).add("LEFT").add(tokens).add("FOR").add(LOAN_FOR + "ms").addAll(limit.countedWords());
        return new Operation(words, number, known, false, now);
    }

    /** The operation that ends the loan, or the last one again if its answer was lost: the server carries it out once. */
    Operation giveBack(Moment now, Key key) {
        if (unheard != null && repeats < MOST_REPEATS) {
            repeats++;
            return unheard;
        }
        if (!isValid(now)) {
            drop();
        }
        number++;
        Words words = new Words("RL.RETURN").add(key).add(holder).add(number).add(known).add(drop());
        unheard = new Operation(words, number, known, true, now);
        repeats = 0;
        return unheard;
    }

    /** Forgets the tokens, which the server counts as spent unless they are stated. */
    private long drop() {
        long dropped = tokens;
        tokens = 0;
        supplied -= dropped;
        return dropped;
    }

    /** Takes the answer to the last operation. Answers to operations that were given up must not be heard. */
    Answer hear(Operation op, @Nullable Object reply) {
        unheard = null;
        long[] n = Replies.integers(reply, 5);
        long granted = n[0];
        long named = n[4];
        if (granted < 0 || (granted > 0 && !op.isReturn && named != op.number)) {
            throw Replies.unknownForm(reply);
        }
        known = named;
        if (op.isReturn) {
            return new Answer(granted, n[2], false);
        }
        if (named == op.number) {
            since = op.sentAt;
            supplied += granted;
            tokens += granted;
            return new Answer(granted, n[2], false);
        }
        if (named < op.previous) { // the loan was ended
            drop();
        }
        return new Answer(granted, n[2], op.previous != named);
    }

    /** Takes the failure of the last operation. */
    void hearFailure(StintException error) {
        if (!(error instanceof UnavailableException)) {
            unheard = null;
        }
        if (String.valueOf(error.getMessage()).contains("ERR the holder states more tokens than")) {
            drop();
        }
    }
}
