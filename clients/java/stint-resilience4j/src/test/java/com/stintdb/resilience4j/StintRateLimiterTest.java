package com.stintdb.resilience4j;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.stintdb.client.InvalidException;
import com.stintdb.client.Policy;
import com.stintdb.test.FakeServer;
import io.github.resilience4j.core.ConfigurationNotFoundException;
import io.github.resilience4j.ratelimiter.RateLimiter;
import io.github.resilience4j.ratelimiter.RateLimiterConfig;
import io.github.resilience4j.ratelimiter.RequestNotPermitted;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class StintRateLimiterTest {
    private static final RateLimiterConfig CONFIG =
            RateLimiterConfig.custom().limitForPeriod(2).limitRefreshPeriod(Duration.ofMinutes(1)).timeoutDuration(Duration.ZERO).build();

    private final FakeServer server = new FakeServer();

    private RateLimiter limiter(String name, RateLimiterConfig config) {
        return new StintRateLimiter(name, config, server.limiter());
    }

    @Test
    void processesShareTheirPermissions() {
        RateLimiter one = limiter("backend", CONFIG);
        RateLimiter other = limiter("backend", CONFIG);
        assertTrue(one.acquirePermission() && other.acquirePermission());
        assertFalse(one.acquirePermission() || other.acquirePermission());
        assertThrows(RequestNotPermitted.class, () -> one.executeRunnable(() -> {}));
        server.clock().advance(Duration.ofSeconds(30));
        assertEquals("called", other.executeSupplier(() -> "called"));
        assertEquals(0, one.getMetrics().getAvailablePermissions());
        server.clock().advance(Duration.ofMinutes(1));
        assertEquals(2, one.getMetrics().getAvailablePermissions());
        assertEquals(0, one.getMetrics().getNumberOfWaitingThreads());
    }

    @Test
    void permissionsAreReservedWithinTheTimeout() {
        RateLimiter limiter = limiter("backend", RateLimiterConfig.from(CONFIG).timeoutDuration(Duration.ofMinutes(1)).build());
        assertEquals(0, limiter.reservePermission(2));
        assertEquals(TimeUnit.SECONDS.toNanos(30), limiter.reservePermission());
        assertEquals(TimeUnit.SECONDS.toNanos(60), limiter.reservePermission());
        assertTrue(limiter.reservePermission() < 0);
        limiter.changeTimeoutDuration(Duration.ofMinutes(2));
        assertEquals(TimeUnit.SECONDS.toNanos(90), limiter.reservePermission());
    }

    @Test
    void threadWaitsOrGivesPermissionsBackWhenInterrupted() {
        RateLimiter limiter = limiter("fast", RateLimiterConfig.custom().limitForPeriod(1).limitRefreshPeriod(Duration.ofMillis(1))
                .timeoutDuration(Duration.ofMinutes(1)).build());
        assertTrue(limiter.acquirePermission() && limiter.acquirePermission() && limiter.acquirePermission());
        RateLimiter slow = limiter("slow", RateLimiterConfig.from(CONFIG).timeoutDuration(Duration.ofMinutes(1)).build());
        assertTrue(slow.acquirePermission(2));
        Thread.currentThread().interrupt();
        assertFalse(slow.acquirePermission());
        assertTrue(Thread.interrupted());
        assertEquals(TimeUnit.SECONDS.toNanos(30), slow.reservePermission()); // as if nobody had waited
    }

    @Test
    void drainedAndChanged() {
        RateLimiter limiter = limiter("backend", RateLimiterConfig.from(CONFIG).drainPermissionsOnResult(result -> result.isLeft()).build());
        List<String> events = new ArrayList<>();
        limiter.getEventPublisher().onEvent(event -> events.add(event.getEventType() + " " + event.getNumberOfPermits()));
        assertThrows(IllegalStateException.class, () -> limiter.executeRunnable(() -> {
            throw new IllegalStateException("the backend asks for less");
        }));
        assertFalse(limiter.acquirePermission());
        limiter.changeLimitForPeriod(4);
        assertTrue(limiter.acquirePermission());
        assertEquals(List.of("SUCCESSFUL_ACQUIRE 1", "DRAINED 1", "FAILED_ACQUIRE 1", "SUCCESSFUL_ACQUIRE 1"), events);
    }

    @Test
    void policyDecidesWhileStintIsGone() {
        server.setDown(true);
        assertTrue(limiter("open", CONFIG).acquirePermission(2));
        assertFalse(new StintRateLimiter("closed", CONFIG, server.limiter(Policy.failClosed()).build()).acquirePermission());
    }

    @Test
    void badConfigurationIsNamedWithTheRemedy() {
        InvalidException error = assertThrows(InvalidException.class, () -> limiter("usual", RateLimiterConfig.ofDefaults()));
        assertEquals("limitRefreshPeriod: must be whole milliseconds from 1 ms to 10 years, such as Duration.ofSeconds(1), got PT0.0000005S", error.getMessage());
    }

    @Test
    void registry() {
        StintRateLimiterRegistry registry = new StintRateLimiterRegistry(server.limiter(), CONFIG, Map.of("large", RateLimiterConfig.from(CONFIG).limitForPeriod(9).build()), List.of());
        RateLimiter backend = registry.rateLimiter("backend", Map.of("team", "a"));
        assertInstanceOf(StintRateLimiter.class, backend);
        assertSame(backend, registry.rateLimiter("backend"));
        assertEquals(Map.of("team", "a"), backend.getTags());
        assertEquals(9, registry.rateLimiter("other", "large").getMetrics().getAvailablePermissions());
        assertThrows(ConfigurationNotFoundException.class, () -> registry.rateLimiter("third", "unknown"));
        assertEquals(2, registry.getAllRateLimiters().size());
    }
}
