package com.stintdb.client;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** The callers that wait for tokens of one key, in order. Its lease guards it. */
final class Waiters {
    private static final int MOST = 20_000;

    /** A caller that waits for tokens that are being fetched. Null is the answer of nobody: it asks the server. */
    record Waiter(long tokens, CompletableFuture<@Nullable Result> answer) {}

    /** The answer to a waiter. */
    record Served(@Nullable Result result) {
        /** It asks the server itself. */
        static final Served ALONE = new Served(null);
    }

    private List<Waiter> all = new ArrayList<>();

    boolean isEmpty() {
        return all.isEmpty();
    }

    boolean isFull() {
        return all.size() >= MOST;
    }

    void add(Waiter waiter) {
        all.add(waiter);
    }

    void remove(Waiter waiter) {
        all.remove(waiter);
    }

    /** The tokens for which they wait. */
    long tokens() {
        return all.stream().mapToLong(Waiter::tokens).sum();
    }

    /** Removes the waiters except those for which there is null: they go on waiting. What it returns gives them their answers, outside of the monitor. */
    List<Runnable> serve(Function<Waiter, @Nullable Served> answer) {
        List<Runnable> answers = new ArrayList<>();
        List<Waiter> left = new ArrayList<>();
        for (Waiter waiter : all) {
            Served served = answer.apply(waiter);
            if (served == null) {
                left.add(waiter);
            } else {
                answers.add(() -> waiter.answer.complete(served.result));
            }
        }
        all = left;
        return answers;
    }
}
