package com.stintdb.spring;

import com.stintdb.client.BlockingLimiter;
import com.stintdb.client.Limiter;
import com.stintdb.client.StintException;
import com.stintdb.client.UnavailableException;
import java.util.Locale;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.HealthIndicator;

/**
 * Whether Stint answers a PING, within stint.timeout. While it does not, a limiter that fails closed is DOWN: it denies every request. Any other is UNKNOWN, which
 * leaves the application UP: it serves requests, and taking it out of a load balancer would turn the outage of a limiter into one of the application.
 */
public final class StintHealthIndicator implements HealthIndicator {
    private final BlockingLimiter limiter;
    private final StintProperties.@Nullable WhenDown whenDown;

    /** The health of a limiter; whenDown is its policy, null if that is not known. */
    public StintHealthIndicator(Limiter limiter, StintProperties.@Nullable WhenDown whenDown) {
        this.limiter = limiter.blocking();
        this.whenDown = whenDown;
    }

    @Override
    public Health health() {
        String policy = whenDown == null ? "unknown" : whenDown.name().toLowerCase(Locale.ROOT).replace('_', '-');
        try {
            limiter.ping();
            return Health.up().withDetail("whenDown", policy).build();
        } catch (StintException e) {
            Health.Builder health = whenDown == StintProperties.WhenDown.FAIL_CLOSED ? Health.down() : Health.unknown();
            String reason = e instanceof UnavailableException unavailable ? unavailable.reason().name().toLowerCase(Locale.ROOT) : "refused";
            return health.withDetail("whenDown", policy).withDetail("reason", reason).withDetail("error", String.valueOf(e.getMessage())).build();
        }
    }
}
