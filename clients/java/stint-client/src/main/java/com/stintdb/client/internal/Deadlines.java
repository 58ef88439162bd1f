package com.stintdb.client.internal;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;

/**
 * The deadlines of calls with one timeout. They come in the order in which they were set, so a timer for the first is enough: a call that is answered in
 * time costs no timer, and wakes no thread.
 */
final class Deadlines {
    private static final long LATE = 5_000_000; // nanoseconds: a timer as late as this means that the process stood still
    private static final long GRACE = 2_000_000; // then replies wait to be read

    /** A call with a deadline. */
    interface Call {
        /** Whether it was answered. */
        boolean isOver();

        /** Tells it that its deadline is over. It must be short. */
        void expire();
    }

    private record Entry(Call call, long at) {}

    private final long timeout;
    private final Deque<Entry> entries = new ArrayDeque<>();
    private boolean isArmed;

    /** Deadlines so many nanoseconds after the beginnings of calls. */
    Deadlines(long timeout) {
        this.timeout = timeout;
    }

    void set(Call call, long now) {
        long at = now + timeout;
        synchronized (this) {
            dropOver();
            entries.add(new Entry(call, at));
            if (isArmed) {
                return;
            }
            isArmed = true;
        }
        arm(timeout, at);
    }

    private void arm(long after, long at) {
        Timer.after(after, () -> fire(System.nanoTime() - at > LATE));
    }

    private void fire(boolean isLate) {
        if (isLate) {
            Timer.after(GRACE, () -> fire(false));
            return;
        }
        List<Call> overdue = new ArrayList<>();
        long now = System.nanoTime();
        long next;
        synchronized (this) {
            for (Entry first = entries.peek(); first != null && first.at - now <= 0; first = entries.peek()) {
                overdue.add(first.call);
                entries.remove();
            }
            dropOver();
            Entry first = entries.peek();
            isArmed = first != null;
            next = first == null ? now : first.at;
        }
        if (next != now) {
            arm(Math.max(0, next - now), next);
        }
        overdue.forEach(call -> {
            if (!call.isOver()) {
                call.expire();
            }
        });
    }

    private void dropOver() {
        while (!entries.isEmpty() && entries.element().call.isOver()) {
            entries.remove();
        }
    }
}
