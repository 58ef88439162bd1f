package com.stintdb.kafka;

import com.stintdb.client.Limiter;
import com.stintdb.client.Policy;
import com.stintdb.client.StintException;
import com.stintdb.client.UnavailableException;
import com.stintdb.client.UnavailableException.Reason;
import com.stintdb.client.spi.Driver;
import com.stintdb.client.spi.Time;
import com.stintdb.test.FakeServer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;

/** A server in memory whose limiters wait until the test sets the clock. */
final class ManualServer {
    private record Sleeper(long until, CompletableFuture<Void> slept) {}

    final FakeServer server = new FakeServer();
    volatile boolean isDown;
    private final List<Sleeper> sleepers = new ArrayList<>(); // guarded by itself

    Limiter limiter(Policy whenDown) {
        return Limiter.builder(whenDown, new ManualDriver()).timeout(Duration.ofSeconds(30)).build();
    }

    void advance(Duration time) {
        server.clock().advance(time);
        List<Sleeper> awake;
        synchronized (sleepers) {
            awake = sleepers.stream().filter(sleeper -> sleeper.until <= now()).toList();
            sleepers.removeAll(awake);
        }
        awake.forEach(sleeper -> sleeper.slept.complete(null));
    }

    private long now() {
        return server.clock().now().toEpochMilli();
    }

    private final class ManualDriver implements Driver, Time {
        @Override
        public CompletableFuture<@Nullable Object> send(byte[][] words) {
            if (isDown) {
                return CompletableFuture.failedFuture(new UnavailableException(Reason.NOT_SENT, "down"));
            }
            try {
                return CompletableFuture.completedFuture(
                        server.execute(Arrays.stream(words).map(each -> new String(each, StandardCharsets.UTF_8)).toArray(String[]::new)));
            } catch (StintException e) {
                return CompletableFuture.failedFuture(e);
            }
        }

        @Override
        public Time time() {
            return this;
        }

        @Override
        public long nanoTime() {
            return now() * 1_000_000;
        }

        @Override
        public CompletableFuture<Void> sleep(long ms) {
            CompletableFuture<Void> slept = new CompletableFuture<>();
            if (ms <= 0) {
                slept.complete(null);
                return slept;
            }
            synchronized (sleepers) {
                sleepers.add(new Sleeper(now() + ms, slept));
            }
            return slept;
        }

        @Override
        public Executor executor() {
            return Runnable::run;
        }

        @Override
        public void close() {}
    }
}
