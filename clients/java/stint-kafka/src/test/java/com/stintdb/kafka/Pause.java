package com.stintdb.kafka;

import java.util.concurrent.locks.LockSupport;

/** The time between two looks at a condition. */
final class Pause {
    private Pause() {}

    static void of(long ms) {
        long end = System.nanoTime() + ms * 1_000_000;
        for (long left = ms * 1_000_000; left > 0; left = end - System.nanoTime()) {
            LockSupport.parkNanos(left);
        }
    }
}
