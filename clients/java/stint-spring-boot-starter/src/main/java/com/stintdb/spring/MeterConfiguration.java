package com.stintdb.spring;

import com.stintdb.client.Limiter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.MeterBinder;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** Meters of decisions and of the circuit breaker. */
@Configuration(proxyBeanMethods = false)
@ConditionalOnClass(MeterRegistry.class)
class MeterConfiguration {
    @Bean
    LimiterCustomizer stintMeters(ObjectProvider<MeterRegistry> registry) {
        return builder -> registry.ifAvailable(found -> builder.onDecision(new StintMeters(found)));
    }

    @Bean
    MeterBinder stintBreakerMeter(Limiter limiter) {
        return registry -> Gauge.builder(StintMeters.BREAKER_OPEN, limiter, asked -> asked.isOpen() ? 1 : 0)
                .description("1 while the circuit breaker is open: the fallback decides, and Stint gets no requests")
                .register(registry);
    }
}
