package com.stintdb.spring;

import com.stintdb.client.InvalidException;
import com.stintdb.client.Limiter;
import com.stintdb.client.LimiterBuilder;
import com.stintdb.client.Policy;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Import;
import org.springframework.context.annotation.Role;

/** Makes a {@link Limiter} of the properties stint.*, and what the application's libraries can use: filters, meters, a health indicator, a proxy manager. */
@AutoConfiguration
@EnableConfigurationProperties(StintProperties.class)
@Import({
    MethodConfiguration.class, ServletConfiguration.class, ReactiveConfiguration.class, MeterConfiguration.class, HealthConfiguration.class,
    Bucket4jConfiguration.class
})
public class StintAutoConfiguration {
    /** Spring makes it. */
    public StintAutoConfiguration() {}

    /** The limiter, unless the application defines one. The context closes it. */
    @Bean
    @ConditionalOnMissingBean
    public Limiter stintLimiter(StintProperties properties, ObjectProvider<LimiterCustomizer> customizers) {
        LimiterBuilder builder = Limiter.builder(policy(properties), properties.addresses().toArray(new String[0]))
                .timeout(properties.timeout())
                .connectTimeout(properties.connectTimeout());
        customizers.orderedStream().forEach(customizer -> customizer.customize(builder));
        return builder.build();
    }

    @Bean
    @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
    static PolicyCheck stintPolicyCheck(ObjectProvider<Limiter> limiter) {
        return new PolicyCheck(limiter);
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
}
