package com.stintdb.spring;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.stintdb.client.Limiter;
import com.stintdb.client.Policy;
import com.stintdb.test.FakeServer;
import org.junit.jupiter.api.Test;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.boot.health.contributor.Status;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;

class HealthTest {
    private final FakeServer server = new FakeServer();
    private final ApplicationContextRunner context = new ApplicationContextRunner()
            .withConfiguration(AutoConfigurations.of(StintAutoConfiguration.class))
            .withBean(Limiter.class, () -> server.limiter(Policy.failClosed()).build());

    private void whileGone(String whenDown, Status expected) {
        server.setDown(false);
        context.withPropertyValues("stint.when-down=" + whenDown).run(started -> {
            HealthIndicator indicator = started.getBean("stintHealthIndicator", HealthIndicator.class);
            assertEquals(Status.UP, indicator.health().getStatus());
            server.setDown(true);
            Health health = indicator.health();
            assertEquals(expected, health.getStatus());
            assertEquals(whenDown, health.getDetails().get("whenDown"));
            assertEquals("not_sent", health.getDetails().get("reason"));
            assertEquals("the test set the fake server down", health.getDetails().get("error"));
        });
    }

    @Test
    void onlyALimiterThatFailsClosedIsDown() {
        whileGone("fail-closed", Status.DOWN);
        whileGone("fail-open", Status.UNKNOWN);
        whileGone("local-share", Status.UNKNOWN);
    }

    @Test
    void canBeSwitchedOff() {
        context.withPropertyValues("management.health.stint.enabled=false").run(started -> assertTrue(started.getBeansOfType(HealthIndicator.class).isEmpty()));
    }
}
