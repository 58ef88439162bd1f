package com.stintdb.client;

import com.stintdb.client.Purse.Answer;
import com.stintdb.client.Purse.Moment;
import com.stintdb.client.Purse.Operation;
import com.stintdb.client.UnavailableException.Reason;
import com.stintdb.client.Waiters.Served;
import com.stintdb.client.Waiters.Waiter;
import com.stintdb.client.internal.Asker;
import com.stintdb.client.internal.Timer;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Answers requests for one key under one limit: from a purse, or by asking the server. Its monitor is held for short steps only; answers are given and
 * commands are sent without it.
 */
final class Lease {
    final Limit limit;
    private final Key key;
    private final Decider server;
    private final double ahead; // milliseconds
    private final Supplier<Moment> clock;

    private final Purse purse; // guarded by this, as all below
    private long remaining; // at the server for everybody else, after its last reply
    private long low; // with fewer tokens left, more are fetched
    private boolean hasDenial; // of one token
    private double deniedUntil;
    private double askNext;
    private boolean isFetching;
    private CompletableFuture<?> turn = CompletableFuture.completedFuture(null); // the operations on the loan, one after the other
    private final Waiters waiters = new Waiters();
    private final Demand demand;
    private boolean isEnded;
    private double aloneUntil; // until then, requests go to the server one by one
    private long asked; // tokens granted to such requests

    Lease(Key key, Limit limit, String holder, Decider server, double ahead, Supplier<Moment> clock) {
        this.key = key;
        this.limit = limit;
        this.server = server;
        this.ahead = ahead;
        this.clock = clock;
        this.purse = new Purse(holder);
        this.aloneUntil = Double.NEGATIVE_INFINITY;
        this.demand = new Demand(ahead, clock.get().monotonic());
    }

    /** Tokens that may be spent from memory. */
    synchronized long held() {
        return purse.isValid(clock.get()) ? purse.tokens() : 0;
    }

    /** Answers from memory if possible, and asks the server or fetches tokens otherwise. */
    CompletableFuture<Result> take(long tokens) {
        Moment now = clock.get();
        Waiter waiter;
        boolean refill;
        synchronized (this) {
            if (purse.spend(now, tokens)) {
                Result granted = granted(tokens);
                refill = purse.tokens() < low && beginsFetch();
                waiter = new Waiter(tokens, CompletableFuture.completedFuture(granted));
            } else if (hasDenial && now.monotonic() < askNext) {
                long retryAfter = Math.max(1, (long) Math.ceil(deniedUntil - now.monotonic()));
                return CompletableFuture.completedFuture(new Result(false, 0, limit.capacity(), 0, retryAfter, 0, retryAfter, Source.LEASED, null));
            } else if (isEnded || waiters.isFull() || now.monotonic() < aloneUntil || !isInDemand(now, tokens)) {
                refill = false;
                waiter = new Waiter(tokens, CompletableFuture.completedFuture(null));
            } else {
                waiter = new Waiter(tokens, new CompletableFuture<>());
                waiters.add(waiter);
                refill = beginsFetch();
            }
        }
        if (refill) {
            inTurn(this::fetch);
        }
        return answerOf(waiter);
    }

    private CompletableFuture<Result> answerOf(Waiter waiter) {
        if (!waiter.answer().isDone()) { // it waits, at most for the timeout
            long timeoutMs = server.asker.timeoutMs();
            var timer = Timer.after(TimeUnit.MILLISECONDS.toNanos(timeoutMs), () -> {
                synchronized (this) {
                    waiters.remove(waiter);
                }
                UnavailableException late = new UnavailableException(Reason.TIMEOUT, "no tokens within " + timeoutMs + " ms");
                waiter.answer().completeAsync(() -> server.fallBack(late, key, limit, waiter.tokens()));
            });
            waiter.answer().whenComplete((result, error) -> timer.cancel(false));
        }
        return waiter.answer().thenCompose(result -> result == null ? askAlone(waiter.tokens()) : CompletableFuture.completedFuture(result));
    }

    /** The answer from memory, where the end of a window is not known. */
    private Result granted(long tokens) {
        long capacity = limit.capacity();
        long left = Math.min(purse.tokens() + remaining, capacity);
        long resetAfter = limit.algorithm() == Algorithm.TOKEN_BUCKET ? (long) Math.ceil((capacity - left) * limit.periodMs() / limit.count()) : 0;
        return new Result(true, tokens, capacity, left, 0, 0, resetAfter, Source.LEASED, null);
    }

    /** Whether a fetch in the background is to begin. */
    private boolean beginsFetch() {
        if (isFetching || isEnded) {
            return false;
        }
        isFetching = true;
        return true;
    }

    /** Asks the server for the tokens of one request. */
    private CompletableFuture<Result> askAlone(long tokens) {
        double sentAt = clock.get().monotonic();
        return server.acquire(key, limit, tokens, null, null).thenApply(result -> {
            synchronized (this) {
                if (result.source() == Source.SERVER) {
                    remaining = result.remaining();
                    if (!result.allowed() && tokens == 1) {
                        hasDenial = true;
                        deniedUntil = sentAt + result.retryAfterMs();
                        askNext = sentAt + Math.min(result.retryAfterMs(), ahead);
                    }
                    asked += result.granted();
                }
            }
            return result;
        });
    }

    /** Begins work once the work before it is over. */
    private synchronized <T> CompletableFuture<T> inTurn(Supplier<CompletableFuture<T>> work) {
        CompletableFuture<T> done = turn.handle((nothing, error) -> null).thenCompose(nothing -> work.get());
        turn = done;
        return done;
    }

    /** Asks for tokens while callers wait. */
    private CompletableFuture<@Nullable Void> fetch() {
        boolean hasUnheard;
        synchronized (this) {
            hasUnheard = purse.hasUnheard();
        }
        // If the answer is lost again, its tokens count as spent.
        return hasUnheard ? sendBack().handle((nothing, error) -> null).thenCompose(nothing -> fetchOnce()) : fetchOnce();
    }

    private CompletableFuture<@Nullable Void> fetchOnce() {
        Operation op;
        long want;
        synchronized (this) {
            if (isEnded) {
                isFetching = false;
                op = null;
                want = 0;
            } else {
                Moment now = clock.get();
                want = want(now);
                op = purse.lend(now, key, limit, want);
            }
        }
        if (op == null) {
            serve(waiter -> Served.ALONE);
            return CompletableFuture.completedFuture(null);
        }
        return server.asker.ask(op.words().done()).handle((reply, failure) -> {
            StintException error = failure == null ? receive(want, op, reply) : Asker.errorOf(failure);
            if (error != null) {
                fail(error);
            }
            synchronized (this) {
                low = purse.tokens() / 4;
                isFetching = !waiters.isEmpty();
                return isFetching;
            }
        }).thenCompose(goesOn -> goesOn ? fetchOnce() : CompletableFuture.completedFuture(null));
    }

    /** Answers the waiters that an answer of the server decides. It returns the error of a reply of another form. */
    private @Nullable StintException receive(long want, Operation op, @Nullable Object reply) {
        Moment now = clock.get();
        boolean isDecided;
        synchronized (this) {
            Answer answer;
            try {
                answer = purse.hear(op, reply);
            } catch (StintException e) {
                return e;
            }
            isDecided = answer.granted() < want && !answer.isIgnored();
            if (answer.granted() == 0 && want > 0 && !answer.isIgnored()) {
                aloneUntil = now.monotonic() + ahead;
            }
            remaining = answer.remaining();
        }
        serve(waiter -> purse.spend(now, waiter.tokens()) ? new Served(granted(waiter.tokens())) : isDecided ? Served.ALONE : null);
        return null;
    }

    private void fail(StintException error) {
        boolean isGone = error instanceof UnavailableException;
        synchronized (this) {
            purse.hearFailure(error);
            if (!isGone) { // an older server, a user who may not, or another limiter on the key: each request gets the error
                aloneUntil = clock.get().monotonic() + Purse.LOAN_FOR;
            }
        }
        serve(waiter -> isGone ? new Served(server.fallBack(error, key, limit, waiter.tokens())) : Served.ALONE);
    }

    private void serve(Function<Waiter, @Nullable Served> answer) {
        List<Runnable> answers;
        synchronized (this) {
            answers = waiters.serve(answer);
        }
        answers.forEach(Runnable::run);
    }

    /** The tokens to ask for: those of the waiters and of the time ahead, without those that are left. */
    private long want(Moment now) {
        double tokens = Math.floor(Math.min(demand.expected(now, used()), limit.capacity())) + waiters.tokens();
        if (purse.isValid(now)) {
            tokens -= purse.tokens();
        }
        return (long) Math.max(0, Math.min(tokens, limit.capacity()));
    }

    /** Whether two requests for n tokens are expected in the time ahead. Otherwise a loan costs more requests than it saves. */
    private boolean isInDemand(Moment now, long tokens) {
        return demand.expected(now, used()) >= 2 * tokens;
    }

    private long used() {
        return purse.spent() + asked;
    }

    /** Gives back tokens that were not used since the last call, or renews a loan in use. It returns how many calls found no use. */
    int tidy() {
        boolean refill = false;
        boolean giveBack = false;
        int rounds;
        synchronized (this) {
            rounds = demand.endRound(used(), !waiters.isEmpty());
            if (rounds == 0) {
                refill = purse.tokens() > 0 && purse.age(clock.get()) >= Purse.RENEW_AFTER && beginsFetch();
            } else {
                giveBack = rounds == 1 && purse.isOpen();
            }
        }
        if (refill) {
            inTurn(this::fetch);
        } else if (giveBack) {
            inTurn(this::sendBack); // later, those of a lost answer count as spent
        }
        return rounds;
    }

    /** Returns the tokens, or repeats the last return if its answer was lost. */
    private CompletableFuture<@Nullable Void> sendBack() {
        Operation op;
        synchronized (this) {
            if (!purse.isOpen()) {
                return CompletableFuture.completedFuture(null);
            }
            op = purse.giveBack(clock.get(), key);
        }
        return server.asker.ask(op.words().done()).handle((reply, failure) -> {
            synchronized (this) {
                try {
                    if (failure != null) {
                        throw Asker.errorOf(failure);
                    }
                    purse.hear(op, reply);
                } catch (StintException e) {
                    purse.hearFailure(e);
                    throw e;
                }
            }
            return null;
        });
    }

    /** Gives the tokens back, and tries it a second time if the answer is lost. Later requests go to the server one by one. */
    CompletableFuture<?> end() {
        synchronized (this) {
            isEnded = true;
        }
        return inTurn(this::sendBack).exceptionallyCompose(error -> inTurn(this::sendBack)).handle((nothing, error) -> null);
    }
}
