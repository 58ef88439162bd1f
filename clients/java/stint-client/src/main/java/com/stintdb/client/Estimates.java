package com.stintdb.client;

import java.util.ArrayDeque;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * What the last streams of each caller used, in this process: the measure of the tokens that the next one reserves
 * first.
 */
final class Estimates {
    private static final int MOST_CALLERS = 10_000;
    private static final int LAST_STREAMS = 8;
    private static final long MOST_STEPS = 16;

    /** The caller whose stream ended longest ago is the first. */
    private final Map<Object, ArrayDeque<Long>> callers = new LinkedHashMap<>();

    /** The mean of the last eight streams, rounded up, between one step and 16; one step if there were none. */
    synchronized long of(Object caller, long step) {
        ArrayDeque<Long> last = callers.get(caller);
        if (last == null) {
            return step;
        }
        long sum = last.stream().mapToLong(Long::longValue).sum();
        return Math.min(Math.max((sum + last.size() - 1) / last.size(), step), MOST_STEPS * step);
    }

    /** Notes what a stream used. */
    synchronized void add(Object caller, long tokens) {
        ArrayDeque<Long> known = callers.remove(caller);
        ArrayDeque<Long> last = known == null ? new ArrayDeque<>(LAST_STREAMS) : known;
        if (last.size() == LAST_STREAMS) {
            last.remove();
        }
        last.add(tokens);
        if (callers.size() >= MOST_CALLERS) {
            callers.remove(callers.keySet().iterator().next());
        }
        callers.put(caller, last);
    }
}
