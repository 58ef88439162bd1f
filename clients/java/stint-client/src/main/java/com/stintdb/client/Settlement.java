package com.stintdb.client;

import com.stintdb.client.internal.Asker;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * The end of a reservation.
 *
 * @param charges of the limits; null if the server does not know the id
 * @param error why the cost was not charged, or the tokens not given back; null if that was done
 */
record Settlement(@Nullable List<Charge> charges, @Nullable StintException error) {
    /** Charges a cost, or gives everything back if there is none. The future does not fail. */
    static CompletableFuture<Settlement> of(Limiter limiter, Key id, @Nullable Long cost, MultiResult granted) {
        CompletionStage<@Nullable List<Charge>> charged = cost == null ? limiter.cancel(id) : limiter.settle(id, cost);
        return charged.handle((charges, failure) -> {
            if (failure != null) {
                return new Settlement(null, Asker.errorOf(failure));
            }
            boolean isForgotten = charges == null && granted.source() == Source.SERVER;
            return new Settlement(charges, isForgotten ? forgotten() : null);
        }).toCompletableFuture();
    }

    /** The exception about an id that the server does not know any longer. */
    static RefusedException forgotten() {
        return new RefusedException(
                "the block took longer than the server remembers its id, and all that was reserved stays taken: "
                        + "remember it for longer");
    }
}
