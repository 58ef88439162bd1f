package com.stintdb.spring;

import com.stintdb.client.Limiter;
import com.stintdb.client.web.Guard;
import jakarta.servlet.Filter;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.web.filter.OncePerRequestFilter;

/** The filter for servlets. */
@Configuration(proxyBeanMethods = false)
@ConditionalOnWebApplication(type = ConditionalOnWebApplication.Type.SERVLET)
@ConditionalOnClass({Filter.class, OncePerRequestFilter.class})
@ConditionalOnProperty("stint.filter.policy")
class ServletConfiguration {
    @Bean
    @ConditionalOnMissingBean
    StintFilter stintFilter(Limiter limiter, StintProperties properties, ObjectProvider<CallerKey> key, PolicyCheck policies) {
        String policy = String.valueOf(properties.filter().policy());
        policies.needs(policy, "stint.filter.policy");
        return new StintFilter(Guard.byPolicy(limiter, policy), key.getIfAvailable(CallerKey::userOrAddress), properties.filter().order());
    }
}
