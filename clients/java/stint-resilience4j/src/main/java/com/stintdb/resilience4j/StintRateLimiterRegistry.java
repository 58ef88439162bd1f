package com.stintdb.resilience4j;

import com.stintdb.client.Limiter;
import io.github.resilience4j.core.ConfigurationNotFoundException;
import io.github.resilience4j.core.registry.AbstractRegistry;
import io.github.resilience4j.core.registry.RegistryEventConsumer;
import io.github.resilience4j.ratelimiter.RateLimiter;
import io.github.resilience4j.ratelimiter.RateLimiterConfig;
import io.github.resilience4j.ratelimiter.RateLimiterRegistry;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;

/** A registry of {@link StintRateLimiter}s. */
public final class StintRateLimiterRegistry extends AbstractRegistry<RateLimiter, RateLimiterConfig> implements RateLimiterRegistry {
    private final Limiter limiter;

    /**
     * A registry.
     *
     * @param limiter that asks Stint
     * @param usual the configuration of rate limiters that have no other
     */
    public StintRateLimiterRegistry(Limiter limiter, RateLimiterConfig usual) {
        this(limiter, usual, Map.of(), List.of());
    }

    /**
     * A registry with named configurations.
     *
     * @param limiter that asks Stint
     * @param usual the configuration of rate limiters that have no other
     * @param named configurations by their names
     * @param consumers that hear of rate limiters that are added, removed or replaced
     */
    public StintRateLimiterRegistry(
            Limiter limiter, RateLimiterConfig usual, Map<String, RateLimiterConfig> named, List<RegistryEventConsumer<RateLimiter>> consumers) {
        super(usual, consumers);
        this.limiter = limiter;
        named.forEach(this::addConfiguration);
    }

    @Override
    public Set<RateLimiter> getAllRateLimiters() {
        return new HashSet<>(entryMap.values());
    }

    @Override
    public RateLimiter rateLimiter(String name) {
        return rateLimiter(name, getDefaultConfig(), Map.of());
    }

    @Override
    public RateLimiter rateLimiter(String name, Map<String, String> tags) {
        return rateLimiter(name, getDefaultConfig(), tags);
    }

    @Override
    public RateLimiter rateLimiter(String name, RateLimiterConfig config) {
        return rateLimiter(name, config, Map.of());
    }

    @Override
    public RateLimiter rateLimiter(String name, RateLimiterConfig config, Map<String, String> tags) {
        return rateLimiter(name, () -> config, tags);
    }

    @Override
    public RateLimiter rateLimiter(String name, Supplier<RateLimiterConfig> config) {
        return rateLimiter(name, config, Map.of());
    }

    @Override
    public RateLimiter rateLimiter(String name, Supplier<RateLimiterConfig> config, Map<String, String> tags) {
        return computeIfAbsent(name, () -> new StintRateLimiter(name, config.get(), limiter, getAllTags(tags)));
    }

    @Override
    public RateLimiter rateLimiter(String name, String configName) {
        return rateLimiter(name, configName, Map.of());
    }

    @Override
    public RateLimiter rateLimiter(String name, String configName, Map<String, String> tags) {
        return rateLimiter(name, getConfiguration(configName).orElseThrow(() -> new ConfigurationNotFoundException(configName)), tags);
    }
}
