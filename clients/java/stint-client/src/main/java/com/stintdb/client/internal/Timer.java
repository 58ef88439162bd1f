package com.stintdb.client.internal;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/** The one thread of the timers of all limiters of a process. What it runs must be short. */
public final class Timer {
    private static final ScheduledThreadPoolExecutor THREAD = new ScheduledThreadPoolExecutor(1, task -> {
        Thread thread = new Thread(task, "stint-timer");
        thread.setDaemon(true);
        return thread;
    });

    static {
        THREAD.setRemoveOnCancelPolicy(true);
    }

    private Timer() {}

    /** Runs a task after so many nanoseconds. */
    public static Future<?> after(long nanoseconds, Runnable task) {
        return THREAD.schedule(task, nanoseconds, TimeUnit.NANOSECONDS);
    }

    /** Runs a task again and again, so many milliseconds after its last end. */
    public static Future<?> every(long ms, Runnable task) {
        return THREAD.scheduleWithFixedDelay(task, ms, ms, TimeUnit.MILLISECONDS);
    }

    /** Completed after so many milliseconds, on a thread of the common pool. Canceling it ends the timer. */
    public static CompletableFuture<Void> sleep(long ms) {
        CompletableFuture<Void> slept = new CompletableFuture<>();
        if (ms <= 0) {
            slept.complete(null);
            return slept;
        }
        Future<?> timer = after(TimeUnit.MILLISECONDS.toNanos(ms), () -> slept.completeAsync(() -> null));
        slept.whenComplete((nothing, error) -> timer.cancel(false));
        return slept;
    }
}
