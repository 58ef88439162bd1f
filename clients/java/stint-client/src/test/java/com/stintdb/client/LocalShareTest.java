package com.stintdb.client;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.stintdb.client.UnavailableException.Reason;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Semaphore;
import org.junit.jupiter.api.Test;

class LocalShareTest {
    @Test
    void holdersShareWhatIsLeftToAProcess() {
        FakeDriver driver = new FakeDriver(words -> CompletableFuture.failedFuture(new UnavailableException(Reason.CONNECTION, "gone", null)));
        try (Limiter limiter = Limiter.builder(Policy.localShare(0.5), driver).onBreaker((isOpen, cause) -> {}).build()) {
            long granted = 0;
            for (int i = 0; i < 20; i++) {
                granted += limiter.blocking().allow("jobs", Limit.concurrency(10, Duration.ofDays(1), "job-" + i)).granted();
            }
            assertEquals(5, granted);
        }
    }

    @Test
    void aServerThatComesAndGoesGivesNoProcessANewShare() throws Exception {
        FakeDriver driver = new FakeDriver(words -> words.get(0).equals("PING")
                ? CompletableFuture.completedFuture("PONG")
                : CompletableFuture.failedFuture(new UnavailableException(Reason.CONNECTION, "gone", null)));
        Semaphore closed = new Semaphore(0);
        LimiterBuilder settings = Limiter.builder(Policy.localShare(0.25), driver).breaker(1, Duration.ofMillis(1)).onBreaker((isOpen, cause) -> {
            if (!isOpen) {
                closed.release();
            }
        });
        List<Boolean> allowed = new ArrayList<>();
        try (Limiter limiter = settings.build()) {
            for (int i = 0; i < 4; i++) {
                allowed.add(limiter.blocking().allow("k", Limit.parse("12/hour")).allowed());
                closed.acquire();
            }
        }
        assertEquals(List.of(true, true, true, false), allowed);
    }
}
