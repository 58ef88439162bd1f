package com.stintdb.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Waiting for a place of a concurrency limit, on a real server. */
class PlacesTest {
    private static final Duration LONG = Duration.ofMinutes(10);
    private static RealServer server;
    private static Limiter limiter;

    @BeforeAll
    static void start() throws Exception {
        server = new RealServer();
        limiter = open();
    }

    private static Limiter open() {
        return Limiter.builder(Policy.failClosed(), server.url()).timeout(Duration.ofSeconds(30)).connectTimeout(Duration.ofSeconds(30)).build();
    }

    @AfterAll
    static void stop() {
        limiter.close();
        server.close();
    }

    private static Limit gpu(String holder) {
        return Limit.concurrency(1, Duration.ofHours(1), holder);
    }

    /** Waits until so many clients wait for a place. */
    private static void waiting(int n) throws Exception {
        try (Admin admin = new Admin(server)) {
            while (!admin.run("INFO", "clients").toString().contains("blocked_clients:" + n + "\r\n")) {
                Pause.of(2);
            }
        }
    }

    @Test
    void mostUrgentFirst() throws Exception {
        assertTrue(limiter.blocking().await("gpu", gpu("first"), 1, LONG).allowed());
        List<String> got = new CopyOnWriteArrayList<>();
        List<CompletableFuture<?>> waits = new ArrayList<>();
        waits.add(limiter.await("gpu", gpu("calm"), LONG, 1).thenAccept(result -> got.add("calm")));
        waiting(1);
        waits.add(limiter.await("gpu", gpu("usual"), 1, LONG).thenAccept(result -> got.add("usual")));
        waiting(2);
        waits.add(limiter.await("gpu", gpu("urgent"), LONG, 9).thenAccept(result -> got.add("urgent")));
        waiting(3);
        assertTrue(limiter.blocking().allow("another", Limit.perSecond(1)).allowed()); // nothing else is held back
        List<String> order = List.of("first", "urgent", "usual", "calm");
        for (int i = 0; i < order.size(); i++) {
            assertTrue(limiter.blocking().release("gpu", order.get(i)));
            while (got.size() < Math.min(3, i + 1)) {
                Pause.of(2);
            }
        }
        assertEquals(order.subList(1, 4), got);
        CompletableFuture.allOf(waits.toArray(CompletableFuture<?>[]::new)).join();
        waiting(0);
    }

    @Test
    void callersWhoLeave() throws Exception {
        limiter.blocking().await("left", gpu("first"), 1, LONG);
        CompletableFuture<Result> left = limiter.await("left", gpu("left"), 1, LONG);
        waiting(1);
        CompletableFuture<Result> next = limiter.await("left", gpu("next"), 1, LONG);
        waiting(2);
        left.cancel(false);
        waiting(1);
        assertTrue(limiter.blocking().release("left", "first"));
        assertTrue(next.join().allowed());
        assertFalse(limiter.blocking().release("left", "left"));
    }

    @Test
    void endOfWaits() throws Exception {
        limiter.blocking().await("end", gpu("first"), 1, LONG);
        assertThrows(DeniedException.class, () -> limiter.blocking().await("end", gpu("second"), 1, Duration.ofMillis(30)));
        Limiter other = open();
        CompletableFuture<Result> closed = other.await("end", gpu("third"), 1, LONG);
        waiting(1);
        other.close();
        assertInstanceOf(ClosedException.class, assertThrows(CompletionException.class, closed::join).getCause());
        waiting(0);
        assertTrue(limiter.blocking().await("end", gpu("first"), 1, LONG).allowed()); // a renewal
    }

    @Test
    void connectionThatBreaks() throws Exception {
        limiter.blocking().await("broken", gpu("first"), 1, LONG);
        CompletableFuture<Result> next = limiter.await("broken", gpu("next"), 1, LONG);
        waiting(1);
        try (Admin admin = new Admin(server)) {
            admin.run("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
        }
        while (!next.isDone()) {
            limiter.release("broken", "first").toCompletableFuture().exceptionally(error -> false).join();
            Pause.of(5);
        }
        assertTrue(next.join().allowed());
    }

    @Test
    void wrongPriorities() {
        for (int priority : new int[] {-1, 10}) {
            assertThrows(InvalidException.class, () -> limiter.blocking().await("k", gpu("me"), LONG, priority));
        }
        assertThrows(InvalidException.class, () -> limiter.blocking().await("k", Limit.perSecond(1), LONG, 5));
    }
}
