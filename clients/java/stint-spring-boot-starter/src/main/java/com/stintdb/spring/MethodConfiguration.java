package com.stintdb.spring;

import com.stintdb.client.Limiter;
import java.util.concurrent.Executor;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Role;
import org.springframework.core.env.Environment;

/** Methods with {@link RateLimited}. */
@Configuration(proxyBeanMethods = false)
class MethodConfiguration {
    @Bean
    @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
    static RateLimitedPostProcessor stintRateLimitedPostProcessor(
            BeanFactory beans, ObjectProvider<Limiter> limiter, @Qualifier("applicationTaskExecutor") ObjectProvider<Executor> executor, PolicyCheck policies,
            Environment environment) {
        RateLimitedRules rules = new RateLimitedRules(beans, policies);
        boolean byClass = environment.getProperty("spring.aop.proxy-target-class", Boolean.class, true);
        return new RateLimitedPostProcessor(rules, new RateLimitedInterceptor(rules, limiter, executor), byClass);
    }
}
