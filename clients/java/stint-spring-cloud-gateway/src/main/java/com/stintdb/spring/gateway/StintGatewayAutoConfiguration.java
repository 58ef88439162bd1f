package com.stintdb.spring.gateway;

import com.stintdb.client.Limiter;
import com.stintdb.spring.StintAutoConfiguration;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication;
import org.springframework.cloud.gateway.filter.ratelimit.RateLimiter;
import org.springframework.cloud.gateway.support.ConfigurationService;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Primary;

/** Makes a {@link StintRateLimiter} for the gateway on WebFlux. It is the one of routes that name none, also if Redis is there. */
@AutoConfiguration(after = StintAutoConfiguration.class, beforeName = "org.springframework.cloud.gateway.config.GatewayAutoConfiguration")
@ConditionalOnWebApplication(type = ConditionalOnWebApplication.Type.REACTIVE)
@ConditionalOnClass(RateLimiter.class)
@ConditionalOnProperty(name = "spring.cloud.gateway.server.webflux.enabled", matchIfMissing = true)
public class StintGatewayAutoConfiguration {
    /** Spring makes it. */
    public StintGatewayAutoConfiguration() {}

    /** The limiter of routes, unless the application defines one. */
    @Bean
    @Primary
    @ConditionalOnMissingBean
    public StintRateLimiter stintRateLimiter(Limiter limiter, ConfigurationService configuration) {
        return new StintRateLimiter(limiter, configuration);
    }
}
