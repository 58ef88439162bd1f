package com.stintdb.spring;

import com.stintdb.client.Limiter;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.web.server.WebFilter;

/** What WebFlux needs: the filter, and the answer to denials of {@link RateLimited}. */
@Configuration(proxyBeanMethods = false)
@ConditionalOnWebApplication(type = ConditionalOnWebApplication.Type.REACTIVE)
@ConditionalOnClass(WebFilter.class)
class ReactiveConfiguration {
    @Bean
    @ConditionalOnMissingBean
    @ConditionalOnProperty("stint.filter.policy")
    StintWebFilter stintWebFilter(Limiter limiter, StintProperties properties, ObjectProvider<ServerCallerKey> key, PolicyCheck policies) {
        return new StintWebFilter(policies.filterGuard(limiter, properties), key.getIfAvailable(ServerCallerKey::userOrAddress), properties.filter().order());
    }

    @Bean
    RateLimitedWebExceptionHandler stintRateLimitedWebExceptionHandler() {
        return new RateLimitedWebExceptionHandler();
    }

    @Bean
    ReactiveAdvice stintReactiveAdvice() {
        return new ReactiveAdvice();
    }
}
