package com.stintdb.spring;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.stintdb.client.InvalidException;
import com.stintdb.client.Limit;
import com.stintdb.client.Limiter;
import com.stintdb.client.Request;
import com.stintdb.test.FakeServer;
import com.stintdb.test.StintServer;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.MeterBinder;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;

class MetersTest {
    private static double decisions(MeterRegistry registry, String... tags) {
        return registry.get(StintMeters.DECISIONS).tags(tags).counter().count();
    }

    @Test
    void decisionsByOutcomeAndCause() {
        FakeServer server = new FakeServer();
        SimpleMeterRegistry registry = new SimpleMeterRegistry();
        try (Limiter limiter = server.limiter(com.stintdb.client.Policy.failOpen()).onDecision(new StintMeters(registry)).build()) {
            for (int i = 0; i < 3; i++) {
                limiter.blocking().allow("k", Limit.perMinute(1));
            }
            assertThrows(InvalidException.class, () -> limiter.blocking().allow("k", Limit.perMinute(1), 0));
            server.setDown(true);
            limiter.blocking().check("web", "ann", Request.one());
        }
        assertEquals(1, decisions(registry, "operation", "allow", "allowed", "true", "source", "server", "reason", "none"));
        assertEquals(2, decisions(registry, "operation", "allow", "allowed", "false", "source", "server", "reason", "none"));
        assertEquals(1, decisions(registry, "operation", "allow", "allowed", "false", "source", "none", "reason", "mistake"));
        assertEquals(1, decisions(registry, "operation", "check", "allowed", "true", "source", "fallback", "reason", "not_sent"));
        assertEquals(3, registry.get(StintMeters.DURATION).tags("operation", "allow", "source", "server").timer().count());
    }

    @Test
    void theLimiterOfThePropertiesHasThem() {
        try (StintServer server = StintServer.start(Path.of(System.getenv("SERVER_BINARY")))) {
            new ApplicationContextRunner()
                    .withConfiguration(AutoConfigurations.of(StintAutoConfiguration.class))
                    .withBean(SimpleMeterRegistry.class)
                    .withPropertyValues("stint.addresses=" + server.url(), "stint.when-down=fail-open", "stint.timeout=30s", "stint.connect-timeout=30s")
                    .run(started -> {
                        MeterRegistry registry = started.getBean(MeterRegistry.class);
                        started.getBeansOfType(MeterBinder.class).values().forEach(binder -> binder.bindTo(registry)); // Boot does in an application
                        started.getBean(Limiter.class).blocking().allow("k", Limit.perMinute(1));
                        assertEquals(1, decisions(registry, "source", "server"));
                        assertEquals(0, registry.get(StintMeters.BREAKER_OPEN).gauge().value());
                    });
        }
    }
}
