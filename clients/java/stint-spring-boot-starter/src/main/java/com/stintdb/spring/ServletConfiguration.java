package com.stintdb.spring;

import com.stintdb.client.Limiter;
import jakarta.servlet.Filter;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.web.filter.OncePerRequestFilter;

/** What servlets need: the filter, and the answer to denials of {@link RateLimited}. */
@Configuration(proxyBeanMethods = false)
@ConditionalOnWebApplication(type = ConditionalOnWebApplication.Type.SERVLET)
@ConditionalOnClass({Filter.class, OncePerRequestFilter.class})
class ServletConfiguration {
    @Bean
    @ConditionalOnMissingBean
    @ConditionalOnProperty("stint.filter.policy")
    StintFilter stintFilter(Limiter limiter, StintProperties properties, ObjectProvider<CallerKey> key, PolicyCheck policies) {
        return new StintFilter(policies.filterGuard(limiter, properties), key.getIfAvailable(CallerKey::userOrAddress), properties.filter().order());
    }

    @Bean
    ServletAdvice stintServletAdvice() {
        return new ServletAdvice();
    }
}
