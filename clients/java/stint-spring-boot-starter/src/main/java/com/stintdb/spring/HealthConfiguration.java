package com.stintdb.spring;

import com.stintdb.client.Limiter;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.health.autoconfigure.contributor.ConditionalOnEnabledHealthIndicator;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** The health indicator. Spring Boot 3 has its classes elsewhere, so there is none there. */
@Configuration(proxyBeanMethods = false)
@ConditionalOnClass({HealthIndicator.class, ConditionalOnEnabledHealthIndicator.class})
class HealthConfiguration {
    @Bean
    @ConditionalOnEnabledHealthIndicator("stint") // here: its condition is a class of Boot 4, and the class above is looked at first
    @ConditionalOnMissingBean(name = "stintHealthIndicator")
    HealthIndicator stintHealthIndicator(Limiter limiter, StintProperties properties) {
        return new StintHealthIndicator(limiter, properties.whenDown());
    }
}
