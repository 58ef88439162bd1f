package com.stintdb.resilience4j;

import com.stintdb.client.InvalidException;
import com.stintdb.client.Keyed;
import com.stintdb.client.Limit;
import com.stintdb.client.Limiter;
import com.stintdb.client.MultiResult;
import com.stintdb.client.Request;
import com.stintdb.client.Result;
import com.stintdb.client.Source;
import io.github.resilience4j.core.EventConsumer;
import io.github.resilience4j.core.EventProcessor;
import io.github.resilience4j.ratelimiter.RateLimiter;
import io.github.resilience4j.ratelimiter.RateLimiterConfig;
import io.github.resilience4j.ratelimiter.event.RateLimiterEvent;
import io.github.resilience4j.ratelimiter.event.RateLimiterOnDrainedEvent;
import io.github.resilience4j.ratelimiter.event.RateLimiterOnFailureEvent;
import io.github.resilience4j.ratelimiter.event.RateLimiterOnSuccessEvent;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A {@link RateLimiter} whose permissions all processes share. It is a token bucket of {@code limitForPeriod} permissions, refilled evenly in each
 * {@code limitRefreshPeriod}: Resilience4j's own gives all of them back at the end of the period. Permissions may be reserved {@code timeoutDuration} ahead, by
 * MAXWAIT. While Stint does not answer, the policy of the limiter decides.
 */
public final class StintRateLimiter implements RateLimiter {
    private final String name;
    private final String key;
    private final Limiter limiter;
    private final Map<String, String> tags;
    private final AtomicInteger waiting = new AtomicInteger();
    private final Events events = new Events();
    private volatile Setting setting;

    /** A configuration and its limit. */
    private record Setting(RateLimiterConfig config, Limit limit) {
        static Setting of(RateLimiterConfig config) {
            Duration period = config.getLimitRefreshPeriod();
            try {
                return new Setting(config, Limit.per(config.getLimitForPeriod(), period));
            } catch (InvalidException e) {
                throw new InvalidException("limitRefreshPeriod: must be whole milliseconds from 1 ms to 10 years, such as Duration.ofSeconds(1), got " + period);
            }
        }

        /** A request whose permissions may be reserved ahead. */
        Request request(int permits) {
            Duration ahead = Duration.ofMillis(config.getTimeoutDuration().toMillis());
            return ahead.isZero() ? Request.of(permits) : Request.of(permits).maxWait(ahead);
        }
    }

    /**
     * A rate limiter. It throws {@link InvalidException} for a configuration whose period is not of whole milliseconds: Resilience4j's default is 500 ns.
     *
     * @param name of the rate limiter; its permissions have the key {@code resilience4j:NAME}
     * @param limiter that asks Stint
     */
    public StintRateLimiter(String name, RateLimiterConfig config, Limiter limiter) {
        this(name, config, limiter, Map.of());
    }

    /** A rate limiter with tags: see {@link #StintRateLimiter(String, RateLimiterConfig, Limiter)}. */
    public StintRateLimiter(String name, RateLimiterConfig config, Limiter limiter, Map<String, String> tags) {
        this.name = name;
        this.key = "resilience4j:" + name;
        this.limiter = limiter;
        this.tags = Map.copyOf(tags);
        this.setting = Setting.of(config);
    }

    @Override
    public boolean acquirePermission(int permits) {
        MultiResult result = reserve(permits);
        if (!result.allowed() || !sleep(result, permits)) {
            events.publish(new RateLimiterOnFailureEvent(name, permits));
            return false;
        }
        events.publish(new RateLimiterOnSuccessEvent(name, permits));
        return true;
    }

    /** Nanoseconds to wait for the permissions that were reserved; below 0 if there are none within the timeout. */
    @Override
    public long reservePermission(int permits) {
        MultiResult result = reserve(permits);
        events.publish(result.allowed() ? new RateLimiterOnSuccessEvent(name, permits) : new RateLimiterOnFailureEvent(name, permits));
        return result.allowed() ? TimeUnit.MILLISECONDS.toNanos(result.waitMs()) : -1;
    }

    private MultiResult reserve(int permits) {
        Setting present = setting;
        return limiter.blocking().all(List.of(Keyed.of(key, present.limit)), present.request(permits));
    }

    /** Waits for the time of a reservation. If the thread is interrupted, the permissions go back. */
    private boolean sleep(MultiResult result, int permits) {
        if (result.waitMs() == 0) {
            return true;
        }
        waiting.incrementAndGet();
        try {
            Thread.sleep(result.waitMs());
            return true;
        } catch (InterruptedException e) {
            if (result.source() == Source.SERVER) {
                limiter.refund(key, permits);
            }
            Thread.currentThread().interrupt();
            return false;
        } finally {
            waiting.decrementAndGet();
        }
    }

    /** Takes all permissions that are there. */
    @Override
    public void drainPermissions() {
        Limit limit = setting.limit;
        Result result = limiter.blocking().allowAtMost(key, limit, limit.capacity());
        events.publish(new RateLimiterOnDrainedEvent(name, (int) result.granted()));
    }

    @Override
    public void changeTimeoutDuration(Duration timeout) {
        setting = Setting.of(RateLimiterConfig.from(setting.config).timeoutDuration(timeout).build());
    }

    /** Changes the limit. The permissions that were taken carry over. */
    @Override
    public void changeLimitForPeriod(int limit) {
        setting = Setting.of(RateLimiterConfig.from(setting.config).limitForPeriod(limit).build());
    }

    @Override
    public String getName() {
        return name;
    }

    @Override
    public RateLimiterConfig getRateLimiterConfig() {
        return setting.config;
    }

    @Override
    public Map<String, String> getTags() {
        return tags;
    }

    /** Its metrics. The available permissions are those of all processes, and each look asks Stint. */
    @Override
    public Metrics getMetrics() {
        return new Metrics() {
            @Override
            public int getNumberOfWaitingThreads() {
                return waiting.get();
            }

            @Override
            public int getAvailablePermissions() {
                Result result = limiter.blocking().peek(key, setting.limit, 1);
                return (int) (result.remaining() + result.granted());
            }
        };
    }

    @Override
    public EventPublisher getEventPublisher() {
        return events;
    }

    @Override
    public String toString() {
        return "StintRateLimiter{name='" + name + "', limit=" + setting.limit + "}";
    }

    /** Hands events to those that asked for them. */
    private static final class Events extends EventProcessor<RateLimiterEvent> implements EventPublisher {
        void publish(RateLimiterEvent event) {
            if (hasConsumers()) {
                processEvent(event);
            }
        }

        @Override
        public EventPublisher onSuccess(EventConsumer<RateLimiterOnSuccessEvent> consumer) {
            registerConsumer(RateLimiterOnSuccessEvent.class.getName(), consumer);
            return this;
        }

        @Override
        public EventPublisher onFailure(EventConsumer<RateLimiterOnFailureEvent> consumer) {
            registerConsumer(RateLimiterOnFailureEvent.class.getName(), consumer);
            return this;
        }
    }
}
