package com.stintdb.spring;

import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.web.bind.annotation.ControllerAdvice;

/** The answer to denials of {@link RateLimited} in controllers. */
@Configuration(proxyBeanMethods = false)
@ConditionalOnWebApplication
@ConditionalOnClass(ControllerAdvice.class)
class AdviceConfiguration {
    @Bean
    @ConditionalOnMissingBean
    RateLimitedAdvice stintRateLimitedAdvice() {
        return new RateLimitedAdvice();
    }
}
