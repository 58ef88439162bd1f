package com.stintdb.client;

import com.stintdb.client.Algorithm.Option;
import com.stintdb.client.internal.Asker;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/** Calls that wait for tokens. */
final class Awaiting {
    private static final long AHEAD_MS = 250; // of an adaptive limit
    private static final long LONGEST_LATE_MS = 5_000; // of a reply that the server held back; its server may be gone
    private static final long PAUSE_MS = 100; // before a caller joins the line again

    private final Limiter limiter;
    private final Decider decider;
    private final Set<CompletableFuture<?>> waits = ConcurrentHashMap.newKeySet();
    private volatile boolean isClosed;

    Awaiting(Limiter limiter, Decider decider) {
        this.limiter = limiter;
        this.decider = decider;
    }

    CompletableFuture<Result> begin(Key key, Limit limit, long tokens, long atMostMs, int priority) {
        CompletableFuture<Result> future = new CompletableFuture<>();
        waits.add(future);
        future.whenComplete((result, error) -> waits.remove(future));
        long deadline = decider.time.nanoTime() + TimeUnit.MILLISECONDS.toNanos(atMostMs);
        new Wait(key, limit, tokens, deadline, priority, future).tryOnce();
        if (isClosed) {
            close();
        }
        return future;
    }

    /** Ends all waits. */
    void close() {
        isClosed = true;
        waits.forEach(wait -> wait.completeExceptionally(new ClosedException("the limiter was closed")));
    }

    private final class Wait {
        private final Key key;
        private final Limit limit;
        private final long tokens;
        private final long deadline;
        private final int priority;
        /** The time until which a caller who was in the server's line bears that Stint does not answer. */
        private volatile long patientUntil;
        private final CompletableFuture<Result> future;

        Wait(Key key, Limit limit, long tokens, long deadline, int priority, CompletableFuture<Result> future) {
            this.key = key;
            this.limit = limit;
            this.tokens = tokens;
            this.deadline = deadline;
            this.priority = priority;
            this.patientUntil = decider.time.nanoTime();
            this.future = future;
        }

        void tryOnce() {
            if (future.isDone()) {
                return;
            }
            long leftMs = Math.max(1, TimeUnit.NANOSECONDS.toMillis(deadline - decider.time.nanoTime()));
            boolean reserves = limit.algorithm().options.contains(Option.MAXWAIT);
            long aheadMs = limit.algorithm() == Algorithm.ADAPTIVE ? Math.min(leftMs, AHEAD_MS) : leftMs;
            decider.observer.one("await", () -> decider.acquire(key, limit, tokens, reserves ? Option.MAXWAIT : null, reserves ? aheadMs + "ms" : null))
                    .thenAccept(result -> decide(result, leftMs))
                    .exceptionally(error -> {
                        future.completeExceptionally(Asker.errorOf(error));
                        return null;
                    });
        }

        private void decide(Result result, long leftMs) {
            if (result.allowed() && result.waitMs() <= leftMs) {
                sleep(result.waitMs(), () -> future.complete(result), result);
            } else if (result.allowed()) { // a place in a queue with a longer wait
                giveBack(result);
                throw new DeniedException("the place in the queue is " + result.waitMs() + " ms away, and there are " + leftMs + " ms", null);
            } else {
                boolean hasLine = limit.algorithm() == Algorithm.CONCURRENCY && result.source() == Source.SERVER;
                CompletableFuture<@Nullable Object> held = hasLine ? hold(leftMs) : null;
                if (held != null) {
                    join(held);
                    return;
                }
                long now = decider.time.nanoTime();
                if (result.source() != Source.SERVER && now - patientUntil < 0 && now - deadline < 0) {
                    sleep(PAUSE_MS, this::tryOnce, null);
                    return;
                }
                giveUp(result, leftMs);
                sleep(result.retryAfterMs(), this::tryOnce, null);
            }
        }

        /** Joins the server's line for a place. */
        private @Nullable CompletableFuture<@Nullable Object> hold(long leftMs) {
            Words words = new Words("CC.ACQUIRE").add(key).addAll(limit.words()).addAll(limit.optionWords());
            words.add("BLOCK").add(leftMs + "ms").add("PRIORITY").add(priority);
            return decider.asker.hold(words.done(), leftMs + LONGEST_LATE_MS);
        }

        /**
         * Goes on with the server's answer. After a failure the caller joins the line again. A caller who leaves,
         * leaves the line.
         */
        private void join(CompletableFuture<@Nullable Object> held) {
            held.handle((reply, failure) -> {
                StintException error = failure == null ? null : Asker.errorOf(failure);
                boolean mayPass = failure != null && Asker.causeOf(failure) instanceof TimeoutException;
                if (error != null && !Asker.isUndecided(error) && !mayPass) {
                    future.completeExceptionally(error);
                } else if (error != null) {
                    patientUntil = decider.time.nanoTime() + TimeUnit.MILLISECONDS.toNanos(LONGEST_LATE_MS);
                    sleep(PAUSE_MS, this::tryOnce, null);
                } else {
                    arrive(reply);
                }
                return null;
            });
            future.whenComplete((result, error) -> {
                if (error != null && held.cancel(false)) {
                    leave();
                }
            });
        }

        private void arrive(@Nullable Object reply) {
            Result result = Result.of(reply, limit, 1);
            if (!result.allowed()) {
                String why = "all places were taken until the end of the wait";
                future.completeExceptionally(new DeniedException(why, null));
            } else if (!future.complete(result)) {
                leave();
            }
        }

        /** Ends the place that the server may have given meanwhile. */
        private void leave() {
            decider.asker.ask(new Words("CC.RELEASE").add(key).add(limit.words().get(2)).done());
        }

        /** Goes on after a time, unless the future ends meanwhile: then a grant is given back. */
        private void sleep(long ms, Runnable then, @Nullable Result grant) {
            CompletableFuture<Void> slept = decider.time.sleep(ms);
            slept.thenRun(then);
            future.whenComplete((result, error) -> {
                if (error != null && grant != null && !slept.isDone()) {
                    giveBack(grant);
                }
                slept.cancel(false);
            });
        }

        private void giveBack(Result grant) {
            if (grant.source() == Source.SERVER) {
                limiter.refund(key, grant.granted());
            }
        }

        private void giveUp(Result denied, long leftMs) {
            if (denied.source() == Source.FALLBACK) {
                throw new DeniedException("Stint does not answer, and the fallback denies", denied.cause());
            }
            if (denied.needsPayment()) {
                throw new DeniedException("the balance has fewer than " + tokens + " credits, and only a payment helps", null);
            }
            if (denied.retryAfterMs() == Result.NEVER) {
                throw new DeniedException("more tokens than " + limit + " can ever grant: " + tokens, null);
            }
            boolean isBehindOthers = denied.source() == Source.SERVER && limit.algorithm().reserves && limit.algorithm() != Algorithm.ADAPTIVE;
            if (denied.retryAfterMs() > leftMs || isBehindOthers) {
                throw new DeniedException("it would take " + denied.retryAfterMs() + " ms, and there are " + leftMs + " ms, or the queue is full", null);
            }
        }
    }
}
