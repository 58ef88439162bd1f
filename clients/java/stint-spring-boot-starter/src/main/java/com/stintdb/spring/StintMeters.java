package com.stintdb.spring;

import com.stintdb.client.Decision;
import com.stintdb.client.Source;
import com.stintdb.client.StintException;
import com.stintdb.client.UnauthenticatedException;
import com.stintdb.client.UnavailableException;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Reports decisions to Micrometer. For a limiter that the application builds: {@code builder.onDecision(new StintMeters(registry))}. Keys and ids are not among
 * the tags, because their number has no bound.
 */
public final class StintMeters implements Consumer<Decision> {
    /**
     * A counter of decisions. Its tags are operation, such as "check"; allowed; source, which is "server", "leased", "local", "fallback", or "none" if the call
     * failed; and reason, why Stint did not decide: one of {@link UnavailableException.Reason} in small letters, "unauthenticated", "mistake" if the request
     * itself was refused, or "none".
     */
    public static final String DECISIONS = "stint.client.decisions";
    /** A timer from calls to decisions, with the tags operation and source. */
    public static final String DURATION = "stint.client.decision.duration";
    /** A gauge: 1 while the circuit breaker is open. */
    public static final String BREAKER_OPEN = "stint.client.breaker.open";

    private record Kind(String operation, boolean allowed, @Nullable Source source, String reason) {}

    private record Meters(Counter decisions, Timer duration) {}

    private final MeterRegistry registry;
    private final Map<Kind, Meters> meters = new ConcurrentHashMap<>();

    /** Meters in a registry. */
    public StintMeters(MeterRegistry registry) {
        this.registry = registry;
    }

    @Override
    public void accept(Decision decision) {
        Kind kind = new Kind(decision.operation(), decision.allowed(), decision.source(), reasonOf(decision.error()));
        Meters found = meters.computeIfAbsent(kind, this::register);
        found.decisions.increment();
        found.duration.record(decision.duration());
    }

    private Meters register(Kind kind) {
        String source = kind.source == null ? "none" : kind.source.name().toLowerCase(Locale.ROOT);
        return new Meters(
                Counter.builder(DECISIONS)
                        .description("Decisions on requests")
                        .tags("operation", kind.operation, "allowed", Boolean.toString(kind.allowed), "source", source, "reason", kind.reason)
                        .register(registry),
                Timer.builder(DURATION).description("Time until the decision").tags("operation", kind.operation, "source", source).register(registry));
    }

    private static String reasonOf(@Nullable StintException error) {
        if (error instanceof UnavailableException unavailable) {
            return unavailable.reason().name().toLowerCase(Locale.ROOT);
        }
        return error == null ? "none" : error instanceof UnauthenticatedException ? "unauthenticated" : "mistake";
    }
}
