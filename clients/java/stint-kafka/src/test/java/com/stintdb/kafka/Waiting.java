package com.stintdb.kafka;

import java.util.concurrent.locks.LockSupport;

/** The one place that waits, for the tests: it looks at a condition again and again. */
final class Waiting {
    private static final long PAUSE_NS = 10_000_000;

    /** A condition. */
    interface Condition {
        boolean holds() throws Exception;
    }

    private Waiting() {}

    static void until(Condition condition) throws Exception {
        while (!condition.holds()) {
            LockSupport.parkNanos(PAUSE_NS);
        }
    }
}
