package com.stintdb.client.internal;

import com.stintdb.client.ClosedException;
import com.stintdb.client.StintException;
import com.stintdb.client.UnauthenticatedException;
import com.stintdb.client.UnavailableException;
import com.stintdb.client.UnavailableException.Reason;
import com.stintdb.client.spi.Driver;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.EnumSet;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/** Sends commands within a deadline, unless the breaker is open. */
public final class Asker {
    private static final int MOST_WAITING = 20_000; // commands without a reply
    private static final long LEAST_PATIENCE_MS = 200; // of a probe
    private static final long FIRST_PAUSE_MS = 2; // between two attempts of a command that may be repeated
    private static final long LONGEST_PAUSE_MS = 100;
    private static final byte[][] PING = {"PING".getBytes(StandardCharsets.US_ASCII)};

    private static final Set<Reason> SILENCE = EnumSet.of(Reason.TIMEOUT, Reason.NOT_SENT, Reason.CONNECTION);

    /**
     * The settings.
     *
     * @param timeoutMs milliseconds that a call waits for a reply
     * @param connectTimeoutMs milliseconds that the first calls wait for a connection before that
     * @param failures in a row that open the breaker
     * @param coolDownMs milliseconds before each probe
     */
    public record Settings(long timeoutMs, long connectTimeoutMs, int failures, long coolDownMs) {}

    private final Driver driver;
    private final Settings settings;
    private final long patienceMs; // several round trips, with those of a new connection
    private final Deadlines deadlines;
    private final Breaker breaker;
    private final AtomicInteger waiting = new AtomicInteger();
    private volatile boolean isClosed;

    /** An asker that sends through a driver. */
    public Asker(Driver driver, Settings settings, Breaker.Listener listener) {
        this.driver = driver;
        this.settings = settings;
        this.patienceMs = Math.max(LEAST_PATIENCE_MS, 5 * settings.timeoutMs);
        this.deadlines = new Deadlines(TimeUnit.MILLISECONDS.toNanos(settings.timeoutMs));
        this.breaker = new Breaker(settings.failures, TimeUnit.MILLISECONDS.toNanos(settings.coolDownMs), this::probe, listener);
    }

    /** Milliseconds that a call waits for a reply. */
    public long timeoutMs() {
        return settings.timeoutMs;
    }

    /** Whether the circuit breaker is open: no requests are sent at present. */
    public boolean isOpen() {
        return breaker.isOpen();
    }

    /** Sends a command once. The future is completed within the timeout, whatever the driver does. */
    public CompletableFuture<@Nullable Object> ask(byte[][] words) {
        return ask(words, settings.timeoutMs);
    }

    /** Sends a command once, at the start of a program: it waits for the reply as long as the first calls wait for a connection. */
    public CompletableFuture<@Nullable Object> askAtStart(byte[][] words) {
        return ask(words, Math.max(settings.timeoutMs, settings.connectTimeoutMs));
    }

    private CompletableFuture<@Nullable Object> ask(byte[][] words, long timeoutMs) {
        StintException refusal = refusal();
        if (refusal != null) {
            return CompletableFuture.failedFuture(refusal);
        }
        waiting.incrementAndGet();
        Call call = new Call(words, timeoutMs, true);
        call.begin();
        return call.future;
    }

    /** Why nothing is sent. */
    private @Nullable StintException refusal() {
        if (isClosed) {
            return new ClosedException("the limiter was closed");
        }
        if (breaker.isOpen()) {
            return new UnavailableException(Reason.CIRCUIT_OPEN, "Stint failed several times in a row and gets no requests until it works again");
        }
        if (waiting.get() >= MOST_WAITING) {
            return new UnavailableException(Reason.OVERLOADED, MOST_WAITING + " requests wait for replies");
        }
        return null;
    }

    /**
     * Sends a command that the server holds back, on a connection of its own, which ends with the reply, after the time
     * or when the future is canceled. Null if the driver has no other connection.
     */
    public @Nullable CompletableFuture<@Nullable Object> hold(byte[][] words, long ms) {
        StintException refusal = refusal();
        CompletableFuture<@Nullable Object> held =
                refusal == null ? driver.hold(words) : CompletableFuture.failedFuture(refusal);
        return held == null ? null : held.orTimeout(ms, TimeUnit.MILLISECONDS);
    }

    /** Sends a command that may be carried out twice, again and again within the timeout, after failures that another attempt may not meet. */
    public CompletableFuture<@Nullable Object> askUntilAnswered(byte[][] words) {
        return attempt(words, System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(settings.timeoutMs), FIRST_PAUSE_MS);
    }

    private CompletableFuture<@Nullable Object> attempt(byte[][] words, long deadline, long pauseMs) {
        long leftMs = Math.max(1, TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime()));
        return ask(words, leftMs).handle((reply, error) -> {
            long jittered = pauseMs / 2 + ThreadLocalRandom.current().nextLong(pauseMs + 1);
            if (error == null) {
                return CompletableFuture.completedFuture(reply);
            }
            if (!mayPass(error) || deadline - System.nanoTime() <= TimeUnit.MILLISECONDS.toNanos(jittered)) {
                return CompletableFuture.<@Nullable Object>failedFuture(error);
            }
            return Timer.sleep(jittered).thenCompose(slept -> attempt(words, deadline, Math.min(2 * pauseMs, LONGEST_PAUSE_MS)));
        }).thenCompose(future -> future);
    }

    /** Ends the connection. */
    public void close() {
        isClosed = true;
        breaker.close();
        driver.close();
    }

    private CompletableFuture<Boolean> probe() {
        Call call = new Call(PING, patienceMs, false);
        call.send();
        return call.future.handle((reply, error) -> {
            if (error != null && isSilence(error)) {
                driver.renew(Duration.ofMillis(patienceMs)); // the connection may have died without a sign
                return false;
            }
            return true;
        });
    }

    /** A command under way. */
    private final class Call implements Deadlines.Call {
        final CompletableFuture<@Nullable Object> future = new CompletableFuture<>();
        private final byte[][] words;
        private final long timeoutMs;
        private final boolean isCounted; // by the breaker, and among those that wait
        private final AtomicBoolean isOver = new AtomicBoolean();
        private long begun = System.nanoTime();
        private @Nullable CompletableFuture<@Nullable Object> reply;

        Call(byte[][] words, long timeoutMs, boolean isCounted) {
            this.words = words;
            this.timeoutMs = timeoutMs;
            this.isCounted = isCounted;
        }

        /** Sends it once the first attempt to connect is over: a program that has just started is connected in a moment. */
        void begin() {
            CompletableFuture<?> first = driver.firstAttempt();
            if (first.isDone()) {
                send();
                return;
            }
            first.whenComplete((nothing, error) -> send());
            Timer.after(TimeUnit.MILLISECONDS.toNanos(settings.connectTimeoutMs), () -> {
                if (!first.isDone()) {
                    expire(new UnavailableException(Reason.NOT_SENT, "there was no connection to Stint within " + settings.connectTimeoutMs + " ms"));
                }
            });
        }

        void send() {
            if (isOver()) {
                return;
            }
            begun = System.nanoTime();
            if (timeoutMs == settings.timeoutMs) {
                deadlines.set(this, begun);
            } else {
                Timer.after(TimeUnit.MILLISECONDS.toNanos(timeoutMs), this::expire);
            }
            reply = driver.send(words);
            reply.whenComplete(this::end);
        }

        @Override
        public boolean isOver() {
            return isOver.get();
        }

        @Override
        public void expire() {
            expire(new UnavailableException(Reason.TIMEOUT, "no reply within " + timeoutMs + " ms; the tokens may have been taken"));
        }

        private void expire(UnavailableException error) {
            if (isOver()) {
                return;
            }
            try {
                driver.executor().execute(() -> end(null, error));
            } catch (RejectedExecutionException e) { // the limiter was closed
                end(null, error);
            }
        }

        private void end(@Nullable Object answer, @Nullable Throwable error) {
            if (!isOver.compareAndSet(false, true)) {
                return;
            }
            StintException failure = error == null ? null : errorOf(error);
            if (isCounted) {
                waiting.decrementAndGet();
                if (failure != null && isSilence(failure)) {
                    breaker.failed(begun, failure);
                } else {
                    breaker.succeeded();
                }
            }
            if (failure == null) {
                future.complete(answer);
                return;
            }
            future.completeExceptionally(failure);
            if (reply != null) {
                reply.cancel(false); // it is not sent any more
            }
        }
    }

    /** The exception of this client in an exception of a future. */
    public static StintException errorOf(Throwable error) {
        Throwable cause = causeOf(error);
        return cause instanceof StintException stint ? stint : new StintException("an unexpected failure, please report it: " + cause, cause);
    }

    /** The failure of a stage, without what stages wrap it in. */
    public static Throwable causeOf(Throwable error) {
        return error instanceof CompletionException && error.getCause() != null ? error.getCause() : error;
    }

    /** Whether the connection or the server failed to answer; an error reply is an answer. */
    private static boolean isSilence(Throwable error) {
        return error instanceof UnavailableException unavailable && SILENCE.contains(unavailable.reason());
    }

    /** Whether another attempt may not meet the failure. */
    private static boolean mayPass(Throwable error) {
        return error instanceof UnavailableException unavailable
                && unavailable.reason() != Reason.CIRCUIT_OPEN
                && unavailable.reason() != Reason.OVERLOADED
                && !String.valueOf(error.getMessage()).matches("(?s)(OOM|LIMITED) .*");
    }

    /** Whether an exception concerns Stint or the connection and not the request: the fallback decides. */
    public static boolean isUndecided(StintException error) {
        return error instanceof UnavailableException || error instanceof UnauthenticatedException;
    }
}
