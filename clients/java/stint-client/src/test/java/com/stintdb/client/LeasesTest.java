package com.stintdb.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.stintdb.client.Purse.Moment;
import com.stintdb.client.UnavailableException.Reason;
import com.stintdb.client.internal.Replies;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Leases with a driver of the test, and on a real server. */
class LeasesTest {
    private static final Duration LONG = Duration.ofSeconds(30);

    private static RealServer server;

    @BeforeAll
    static void start() throws Exception {
        server = new RealServer();
    }

    @AfterAll
    static void stop() {
        server.close();
    }

    private static Limiter limiter() {
        return Limiter.builder(Policy.failClosed(), server.url()).timeout(LONG).connectTimeout(LONG).build();
    }

    @Test
    void serverWithoutLoansOrGone() {
        AtomicBoolean isGone = new AtomicBoolean();
        FakeDriver driver = new FakeDriver(words -> {
            if (isGone.get()) {
                return CompletableFuture.failedFuture(new UnavailableException(Reason.CONNECTION, "gone"));
            }
            return words.get(0).equals("RL.LEND")
                    ? CompletableFuture.failedFuture(Replies.errorOf("ERR unknown command 'RL.LEND'"))
                    : CompletableFuture.completedFuture(List.of(1L, 1000L, 999L, 0L, 1L));
        });
        try (Limiter limiter = Limiter.builder(Policy.failClosed(), driver).timeout(LONG).build();
                Leases leases = limiter.lease()) {
            for (int i = 0; i < 20_000; i++) {
                assertEquals(Source.SERVER, leases.allowNow("k", Limit.perSecond(1000)).source());
            }
            assertTrue(driver.sent.stream().filter(words -> words.get(0).equals("RL.LEND")).count() <= 1, "it is asked again and again");
            isGone.set(true);
            Result result = leases.allowNow("k", Limit.perSecond(1000));
            assertFalse(result.allowed());
            assertEquals(Source.FALLBACK, result.source());
            assertInstanceOf(UnavailableException.class, result.cause());
        }
    }

    @Test
    void denialIsRememberedUntilClose() {
        FakeDriver driver = new FakeDriver(words -> CompletableFuture.completedFuture(List.of(0L, 1000L, 0L, 60L, 60L)));
        Decider decider = new Decider(Limiter.builder(Policy.failClosed(), driver), driver);
        Leases leases = new Leases(decider, new LeaseOptions(Duration.ofMillis(500), 10), () -> new Moment(1000, 1000)); // the clock stands still
        assertEquals(Source.SERVER, leases.allowNow("k", Limit.perSecond(1000)).source());
        assertEquals(Source.LEASED, leases.allowNow("k", Limit.perSecond(1000)).source());
        leases.close();
        assertEquals(Source.SERVER, leases.allowNow("k", Limit.perSecond(1000)).source());
    }

    @Test
    void processesKeepToALimitTogether() throws Exception {
        Limit limit = Limit.perSecond(2000).burst(50_000);
        AtomicLong leased = new AtomicLong();
        AtomicLong asked = new AtomicLong();
        AtomicLong denied = new AtomicLong();
        List<Limiter> limiters = List.of(limiter(), limiter(), limiter());
        List<Leases> leases = limiters.stream().map(Limiter::lease).toList();
        long begun = System.nanoTime();
        List<Thread> threads = new ArrayList<>();
        for (Leases lease : leases) {
            for (int i = 0; i < 4; i++) {
                threads.add(new Thread(() -> {
                    while (leased.get() < 5000 || denied.get() < 1000) { // until the limit is used up, and a while longer
                        Result result = lease.allowNow("leased", limit);
                        (!result.allowed() ? denied : result.source() == Source.LEASED ? leased : asked).incrementAndGet();
                    }
                }));
            }
        }
        threads.forEach(Thread::start);
        for (Thread thread : threads) {
            thread.join();
        }
        double passed = (System.nanoTime() - begun) / 1e6;
        long granted = leased.get() + asked.get();
        System.out.println(leased + " from memory, " + asked + " from the server, " + denied + " denied in " + passed + " ms");
        assertTrue(granted <= 50_000 + 2 * passed + 1, granted + " granted");
        leases.forEach(Leases::close);
        assertEquals(0, leases.get(0).held("leased"));
        assertEquals(Source.SERVER, leases.get(0).allowNow("leased", limit).source());
        assertEquals(Source.SERVER, limiters.get(0).blocking().allow("other", Limit.slidingLog(3, Duration.ofMinutes(1))).source());
        limiters.forEach(Limiter::close);
    }

    @Test
    void unusedTokensGoBackAndTheLastOnesAreAsked() {
        Limit limit = Limit.window(10_000, Duration.ofDays(1));
        try (Limiter limiter = limiter();
                Leases leases = limiter.lease()) {
            while (leases.held("day") == 0) {
                leases.allowNow("day", limit);
            }
            while (leases.held("day") > 0) {
                Pause.of(20);
            }
            long remaining = limiter.blocking().peek("day", limit, 1).remaining();
            assertTrue(remaining > 0);
            assertEquals(Source.SERVER, leases.allowNow("day", limit, remaining).source());
        }
    }
}
