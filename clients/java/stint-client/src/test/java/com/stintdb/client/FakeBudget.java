package com.stintdb.client;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** A budget in memory, with the replies of the server about one limit. */
final class FakeBudget implements AutoCloseable {
    private static final class Reservation {
        long total;
        long last;
        long granted;
    }

    final Limiter limiter;
    final FakeDriver driver = new FakeDriver(this::reply);
    volatile boolean isDown;
    /** So many replies are lost, of commands that were carried out. */
    volatile int lost;

    volatile boolean forgets;
    volatile long left;
    private final Map<String, Reservation> reservations = new HashMap<>();

    FakeBudget(long left, Policy whenDown) {
        this(left, whenDown, Duration.ofMillis(20));
    }

    FakeBudget(long left, Policy whenDown, Duration timeout) {
        this.left = left;
        this.limiter = Limiter.builder(whenDown, driver).timeout(timeout).breaker(1_000_000, Duration.ofSeconds(1)).build();
    }

    /** The commands that were sent. */
    List<String> sent() {
        return driver.sent.stream().map(words -> String.join(" ", words)).toList();
    }

    /** The commands with this name that were sent, without it and the id of the stream. */
    List<String> sent(String name) {
        return driver.sent.stream().filter(words -> words.get(0).equals(name)).map(words -> String.join(" ", words.subList(2, words.size()))).toList();
    }

    @Override
    public void close() {
        limiter.close();
    }

    private synchronized CompletableFuture<@Nullable Object> reply(List<String> words) {
        if (isDown) {
            return gone();
        }
        Object reply = execute(words);
        if (lost > 0) {
            lost--;
            return gone();
        }
        return CompletableFuture.completedFuture(reply);
    }

    private static CompletableFuture<@Nullable Object> gone() {
        return CompletableFuture.failedFuture(new UnavailableException(UnavailableException.Reason.CONNECTION, "gone"));
    }

    private @Nullable Object execute(List<String> words) {
        return switch (words.get(0)) {
            case "RL.CHECK" -> reserve(words.get(words.indexOf("AS") + 1), Long.parseLong(words.get(3)));
            case "RL.ALL" -> reserve(words.get(words.indexOf("AS") + 1), Long.parseLong(words.get(words.indexOf("TOKENS") + 1)));
            case "RL.EXTEND" -> extend(words.get(1), Long.parseLong(words.get(2)), Long.parseLong(words.get(3)));
            case "RL.SETTLE" -> settle(words.get(1), Long.parseLong(words.get(2)));
            case "RL.CANCEL" -> settle(words.get(1), 0);
            default -> throw new IllegalArgumentException(words.toString());
        };
    }

    private List<Object> state() {
        return List.of(100_000L, left, 5L);
    }

    private Object reserve(String id, long tokens) {
        Reservation known = reservations.get(id);
        if (known == null) {
            if (tokens > left) {
                return List.of(0L, 0L, 1500L, List.of(state()));
            }
            left -= tokens;
            known = new Reservation();
            known.total = tokens;
            reservations.put(id, known);
        }
        return List.of(known.total, -1L, 0L, List.of(state()));
    }

    private @Nullable Object extend(String id, long number, long tokens) {
        Reservation known = reservations.get(id);
        if (forgets) {
            return null;
        }
        if (number != known.last) {
            assertEquals(known.last + 1, number);
            long granted = Math.min(tokens, left);
            if (granted == 0) {
                return List.of(0L, 0L, 1500L, List.of(state()), known.total);
            }
            left -= granted;
            known.total += granted;
            known.last = number;
            known.granted = granted;
        }
        return List.of(known.granted, -1L, 0L, List.of(state()), known.total);
    }

    private @Nullable Object settle(String id, long charged) {
        Reservation known = reservations.get(id);
        if (forgets || known == null) {
            return null;
        }
        left += known.total - charged;
        known.total = charged;
        return List.of(List.of(charged, 100_000L, left, 5L));
    }
}
