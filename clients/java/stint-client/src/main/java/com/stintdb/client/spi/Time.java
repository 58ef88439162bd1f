package com.stintdb.client.spi;

import com.stintdb.client.internal.Timer;
import java.util.concurrent.CompletableFuture;

/** The time of a limiter. */
public interface Time {
    /** The time of the machine. */
    Time MACHINE = new Time() {
        @Override
        public long nanoTime() {
            return System.nanoTime();
        }

        @Override
        public CompletableFuture<Void> sleep(long ms) {
            return Timer.sleep(ms);
        }
    };

    /** Nanoseconds since some moment. */
    long nanoTime();

    /** Completed after so many milliseconds. Canceling it ends the wait. */
    CompletableFuture<Void> sleep(long ms);
}
