package com.stintdb.spring;

import com.stintdb.client.InvalidException;
import com.stintdb.client.Limiter;
import com.stintdb.client.Policy;
import com.stintdb.client.web.Guard;
import jakarta.servlet.Filter;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.web.filter.OncePerRequestFilter;

/** Makes a {@link Limiter} of the properties stint.*, and a filter if stint.filter.policy is set. */
@AutoConfiguration
@EnableConfigurationProperties(StintProperties.class)
public class StintAutoConfiguration {
    /** Spring makes it. */
    public StintAutoConfiguration() {}

    /** The limiter, unless the application defines one. The context closes it. */
    @Bean
    @ConditionalOnMissingBean
    public Limiter stintLimiter(StintProperties properties) {
        return Limiter.builder(policy(properties), properties.addresses().toArray(new String[0]))
                .timeout(properties.timeout())
                .connectTimeout(properties.connectTimeout())
                .build();
    }

    private static Policy policy(StintProperties properties) {
        if (properties.whenDown() == null) {
            throw new InvalidException("stint.when-down: must be fail-open, fail-closed or local-share; there is no default, because it decides what an outage means");
        }
        return switch (properties.whenDown()) {
            case FAIL_OPEN -> Policy.failOpen();
            case FAIL_CLOSED -> Policy.failClosed();
            case LOCAL_SHARE -> {
                if (properties.share() == null) {
                    throw new InvalidException("stint.share: local-share needs it, such as 0.125 for one of eight processes");
                }
                yield Policy.localShare(properties.share());
            }
        };
    }

    /** The filter for servlets. */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnWebApplication(type = ConditionalOnWebApplication.Type.SERVLET)
    @ConditionalOnClass({Filter.class, OncePerRequestFilter.class})
    @ConditionalOnProperty("stint.filter.policy")
    static class ServletConfiguration {
        @Bean
        @ConditionalOnMissingBean
        StintFilter stintFilter(Limiter limiter, StintProperties properties, ObjectProvider<CallerKey> key) {
            Guard guard = Guard.byPolicy(limiter, String.valueOf(properties.filter().policy()));
            return new StintFilter(guard, key.getIfAvailable(CallerKey::userOrAddress), properties.filter().order());
        }
    }
}
