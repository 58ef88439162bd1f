package com.stintdb.client;

import com.stintdb.client.spi.Driver;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executor;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** A driver that answers by a function of the test. */
final class FakeDriver implements Driver {
    final List<List<String>> sent = new CopyOnWriteArrayList<>();
    private final Function<List<String>, CompletableFuture<@Nullable Object>> answer;

    FakeDriver(Function<List<String>, CompletableFuture<@Nullable Object>> answer) {
        this.answer = answer;
    }

    @Override
    public CompletableFuture<@Nullable Object> send(byte[][] words) {
        List<String> texts = new ArrayList<>();
        for (byte[] word : words) {
            texts.add(new String(word, StandardCharsets.UTF_8));
        }
        sent.add(texts);
        return answer.apply(texts);
    }

    @Override
    public void close() {}

    @Override
    public Executor executor() {
        return Runnable::run;
    }
}
