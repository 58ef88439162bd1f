package com.stintdb.client;

import com.stintdb.client.Purse.Moment;
import com.stintdb.client.Purse.Operation;
import com.stintdb.client.internal.Asker;
import com.stintdb.client.internal.Rates;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Tokens that Stint has set aside for this process, which renews the loan itself (RL.LEND). {@link Leases} do it for requests; a loan is for a program that
 * spends its tokens in a way of its own, such as the rate of a device. Make one with {@link Limiter#loan}. It is safe for use by many threads.
 *
 * <p>The limit holds over all loans and all other requests. Tokens may be spent for five seconds after the last renewal. After ten seconds without one, Stint
 * counts all of them as spent. There is no policy: while Stint does not answer, stages fail with {@link UnavailableException}.
 */
public final class Loan {
    private final Key key;
    private final Limit limit;
    private final Asker asker;
    private final Purse purse = new Purse(UUID.randomUUID().toString()); // guarded by this, as turn
    private CompletableFuture<Long> turn = CompletableFuture.completedFuture(0L); // the operations, one after the other

    Loan(Key key, Limit limit, Asker asker) {
        if (!limit.isLendable()) {
            throw new InvalidException("loan: needs a token bucket or a fixed window, got " + limit);
        }
        this.key = key;
        this.limit = limit;
        this.asker = asker;
    }

    /** The tokens that may be spent now. */
    public synchronized long held() {
        return purse.isValid(Moment.now()) ? purse.tokens() : 0;
    }

    /** Spends at most so many tokens, and returns how many were there. */
    public synchronized long spend(long tokens) {
        long spent = Math.min(Rates.count(tokens, "tokens", 0), held());
        purse.spend(Moment.now(), spent);
        return spent;
    }

    /**
     * Tells Stint which tokens are spent, and asks for more until this many are held; it lends at most an eighth of those that are left. The stage has the tokens
     * that are held then. Operations that are begun meanwhile wait for this one.
     */
    public CompletionStage<Long> renew(long wanted) {
        Rates.count(wanted, "wanted", 0);
        return inTurn(now -> purse.lend(now, key, limit, Math.min(Math.max(0, wanted - held()), limit.capacity())));
    }

    /** Gives the tokens back that are not spent. The loan may be renewed later. The stage has 0. */
    public CompletionStage<Long> giveBack() {
        return inTurn(now -> purse.isOpen() ? purse.giveBack(now, key) : null);
    }

    private synchronized CompletableFuture<Long> inTurn(Function<Moment, @Nullable Operation> operation) {
        turn = turn.handle((held, error) -> operation).thenCompose(this::carryOut);
        return turn;
    }

    private CompletableFuture<Long> carryOut(Function<Moment, @Nullable Operation> operation) {
        Operation op;
        synchronized (this) {
            op = operation.apply(Moment.now());
        }
        if (op == null) {
            return CompletableFuture.completedFuture(0L);
        }
        return asker.ask(op.words().done()).handle((reply, failure) -> {
            synchronized (this) {
                try {
                    if (failure != null) {
                        throw Asker.errorOf(failure);
                    }
                    purse.hear(op, reply);
                    return held();
                } catch (StintException e) {
                    purse.hearFailure(e);
                    throw e;
                }
            }
        });
    }
}
