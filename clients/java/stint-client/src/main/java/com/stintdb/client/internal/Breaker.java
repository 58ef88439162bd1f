package com.stintdb.client.internal;

import com.stintdb.client.StintException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Stops requests to a server that does not answer. While it is open, probes run in the background, so that no caller waits. They do not become rarer: a
 * server that is back after a long outage is found as soon as one after a short outage. Failures that overlap in time count once: requests in flight
 * when a failure was counted do not count again.
 */
public final class Breaker {
    /** Hears that the breaker opened, with the cause, or closed. */
    public interface Listener {
        /** Called on a thread of the client: it must not block. */
        void changed(boolean isOpen, @Nullable StintException cause);
    }

    private final int failures;
    private final long coolDownNanos;
    private final Supplier<CompletableFuture<Boolean>> probe;
    private final Listener listener;

    private volatile int inRow;
    private volatile boolean isOpen;
    private long lastFailure; // guarded by this, as all below
    private boolean isClosed;
    private @Nullable Future<?> timer;

    Breaker(int failures, long coolDownNanos, Supplier<CompletableFuture<Boolean>> probe, Listener listener) {
        this.failures = failures;
        this.coolDownNanos = coolDownNanos;
        this.probe = probe;
        this.listener = listener;
    }

    boolean isOpen() {
        return isOpen;
    }

    /** Records a reply, also an error reply. */
    void succeeded() {
        if (inRow != 0) {
            synchronized (this) {
                inRow = 0;
            }
        }
    }

    /** Records that a request begun at a time was not answered. */
    void failed(long begun, StintException cause) {
        synchronized (this) {
            if (isClosed || isOpen || (inRow > 0 && begun - lastFailure < 0)) {
                return;
            }
            lastFailure = System.nanoTime();
            inRow = inRow + 1;
            if (inRow < failures) {
                return;
            }
            isOpen = true;
            schedule(0);
        }
        listener.changed(true, cause);
    }

    void close() {
        synchronized (this) {
            isClosed = true;
            if (timer != null) {
                timer.cancel(false);
            }
        }
    }

    /** Begins the next probe, so many nanoseconds after the beginning of the last one. */
    private void schedule(long passed) {
        double jittered = (0.5 + ThreadLocalRandom.current().nextDouble()) * coolDownNanos; // so that processes do not all probe at once
        timer = Timer.after(Math.max(0, (long) jittered - passed), this::tryAgain);
    }

    private void tryAgain() {
        long begun = System.nanoTime();
        probe.get().thenAccept(isAnswered -> {
            synchronized (this) {
                if (isClosed) {
                    return;
                }
                if (!isAnswered) {
                    schedule(System.nanoTime() - begun);
                    return;
                }
                inRow = 0;
                isOpen = false;
            }
            listener.changed(false, null);
        });
    }
}
