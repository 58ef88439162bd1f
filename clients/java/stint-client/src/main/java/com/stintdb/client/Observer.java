package com.stintdb.client;

import com.stintdb.client.internal.Asker;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Tells a listener about decisions. Without one it costs nothing. */
final class Observer {
    private static final System.Logger LOG = System.getLogger("com.stintdb.client");

    private final @Nullable Consumer<Decision> listener;

    Observer(@Nullable Consumer<Decision> listener) {
        this.listener = listener;
    }

    CompletableFuture<Result> one(String operation, Supplier<CompletableFuture<Result>> call) {
        return observed(operation, call, result -> new Outcome(result.allowed(), result.source(), result.cause()));
    }

    CompletableFuture<MultiResult> several(String operation, Supplier<CompletableFuture<MultiResult>> call) {
        return observed(operation, call, result -> new Outcome(result.allowed(), result.source(), result.cause()));
    }

    CompletableFuture<@Nullable MultiResult> extension(Supplier<CompletableFuture<@Nullable MultiResult>> call) {
        return observed("extend", call, result -> result == null ? new Outcome(false, Source.SERVER, null)
                : new Outcome(result.allowed(), result.source(), result.cause()));
    }

    private <T extends @Nullable Object> CompletableFuture<T> observed(
            String operation, Supplier<CompletableFuture<T>> call, Function<T, Outcome> read) {
        Consumer<Decision> told = listener;
        if (told == null) {
            return call.get();
        }
        long begun = System.nanoTime();
        return begin(call).whenComplete((result, error) -> {
            Outcome outcome = error == null ? read.apply(result) : new Outcome(false, null, Asker.errorOf(error));
            Duration duration = Duration.ofNanos(System.nanoTime() - begun);
            try {
                told.accept(new Decision(operation, outcome.allowed, outcome.source, outcome.error, duration));
            } catch (RuntimeException e) {
                LOG.log(System.Logger.Level.ERROR, "the listener of decisions failed", e);
            }
        });
    }

    private static <T extends @Nullable Object> CompletableFuture<T> begin(Supplier<CompletableFuture<T>> call) {
        try {
            return call.get();
        } catch (StintException e) {
            return CompletableFuture.failedFuture(e);
        }
    }

    private record Outcome(boolean allowed, @Nullable Source source, @Nullable StintException error) {}
}
