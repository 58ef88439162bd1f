package com.stintdb.spring;

import org.springframework.aop.framework.autoproxy.AbstractBeanFactoryAwareAdvisingPostProcessor;
import org.springframework.aop.support.DefaultPointcutAdvisor;
import org.springframework.aop.support.annotation.AnnotationMatchingPointcut;

/** Puts proxies before beans with {@link RateLimited} methods. It needs no AspectJ. */
final class RateLimitedPostProcessor extends AbstractBeanFactoryAwareAdvisingPostProcessor {
    private final transient RateLimitedRules rules;

    RateLimitedPostProcessor(RateLimitedRules rules, RateLimitedInterceptor interceptor, boolean byClass) {
        this.rules = rules;
        this.advisor = new DefaultPointcutAdvisor(new AnnotationMatchingPointcut(null, RateLimited.class, true), interceptor);
        setProxyTargetClass(byClass);
    }

    @Override
    protected boolean isEligible(Class<?> targetClass) {
        return super.isEligible(targetClass) && rules.check(targetClass);
    }
}
