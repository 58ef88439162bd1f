package com.stintdb.client;

import com.stintdb.client.internal.Rates;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * Tokens that are taken under an id until the end of a block: see {@link BlockingLimiter#reserving(String, String, Request)}. At the end, the cost that
 * {@link #settle} was given is charged; without it, everything is given back. It is not safe for several threads.
 */
public final class Reserved implements AutoCloseable {
    private static final System.Logger LOG = System.getLogger("com.stintdb.client");
    private static final AtomicBoolean HAS_WARNED = new AtomicBoolean(); // in this process

    private final Limiter limiter;
    private final Key id;
    private final MultiResult result;
    private @Nullable Long cost;
    private @Nullable List<Charge> charges;
    private @Nullable StintException error;

    Reserved(Limiter limiter, Key id, MultiResult result) {
        this.limiter = limiter;
        this.id = id;
        this.result = result;
    }

    /** Whether to go ahead. */
    public boolean allowed() {
        return result.allowed();
    }

    /** The answer to the request. */
    public MultiResult result() {
        return result;
    }

    /** Sets the true cost, in place of the tokens that were reserved. It throws {@link InvalidException} below 0, and for another cost than before. */
    public void settle(long tokens) {
        Rates.count(tokens, "tokens", 0);
        if (cost != null && cost != tokens) {
            throw new InvalidException("tokens: this was settled with " + cost + " already, got " + tokens);
        }
        cost = tokens;
    }

    /** Ends the block. It does not throw if the server is gone, which is no error of the block: see {@link #error}. */
    @Override
    public void close() {
        end().toCompletableFuture().join();
    }

    /** {@link #close}, as a stage, which does not fail. */
    public CompletionStage<@Nullable Void> end() {
        boolean mayBeTaken = result.allowed() || result.cause() instanceof UnavailableException; // a reply may have been lost
        if (!mayBeTaken) {
            return CompletableFuture.completedFuture(null);
        }
        return Settlement.of(limiter, id, cost, result).thenApply(ended -> {
            charges = ended.charges();
            error = ended.error();
            return null;
        });
    }

    /** Has the next settlement that charges nothing logged again, in a test. */
    static void forgetLate() {
        HAS_WARNED.set(false);
    }

    /** Tells an operator of the first settlement in this process that charged nothing. */
    static void warnLate(Key id) {
        if (HAS_WARNED.compareAndSet(false, true)) {
            LOG.log(
                    System.Logger.Level.WARNING,
                    "Stint does not know the request " + Rates.quote(id.text()) + " that was settled, and its true cost was not charged: the time to remember it"
                            + " is over, or nothing was taken under its id. Later ones are not logged one by one");
        }
    }

    /** The charges of the limits, once the block has ended; null if the server does not know the id. */
    public @Nullable List<Charge> charges() {
        return charges;
    }

    /** Why the cost was not charged, or the tokens not given back; null if that was done. */
    public @Nullable StintException error() {
        return error;
    }
}
