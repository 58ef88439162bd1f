package com.stintdb.spring;

import com.stintdb.client.Limiter;
import com.stintdb.client.web.Guard;
import java.lang.reflect.Method;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.concurrent.ForkJoinPool;
import org.aopalliance.intercept.MethodInterceptor;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.ProxyMethodInvocation;
import org.springframework.beans.factory.ObjectProvider;

/** Checks calls of {@link RateLimited} methods. */
final class RateLimitedInterceptor implements MethodInterceptor {
    private final RateLimitedRules rules;
    private final ObjectProvider<Limiter> limiter;
    private final ObjectProvider<Executor> executor;

    RateLimitedInterceptor(RateLimitedRules rules, ObjectProvider<Limiter> limiter, ObjectProvider<Executor> executor) {
        this.rules = rules;
        this.limiter = limiter;
        this.executor = executor;
    }

    @Override
    public @Nullable Object invoke(MethodInvocation call) throws Throwable {
        Method method = call.getMethod();
        Object target = call.getThis();
        if (target == null) {
            return call.proceed();
        }
        RateLimitedRules.Rule rule = rules.of(method, target.getClass());
        String id = rules.idOf(rule, method, target, call.getArguments());
        Class<?> type = method.getReturnType();
        if (CompletionStage.class.isAssignableFrom(type)) {
            return ask(rule, id).toCompletableFuture().thenComposeAsync(answer -> stage(rule, answer, call), executor.getIfAvailable(ForkJoinPool::commonPool));
        }
        ReactiveMethods reactive = ReactiveMethods.of(type);
        if (reactive != null) {
            return reactive.limit(() -> ask(rule, id), answer -> mustBeAllowed(rule, answer), () -> ((ProxyMethodInvocation) call).invocableClone());
        }
        mustBeAllowed(rule, ask(rule, id).toCompletableFuture().join());
        return call.proceed();
    }

    private CompletionStage<Guard.Answer> ask(RateLimitedRules.Rule rule, String id) {
        return Guard.byPolicy(limiter.getObject(), rule.policy()).decide(id);
    }

    private static void mustBeAllowed(RateLimitedRules.Rule rule, Guard.Answer answer) {
        if (!answer.allowed()) {
            throw new RateLimitedException(rule.policy(), answer);
        }
    }

    private static CompletionStage<@Nullable Object> stage(RateLimitedRules.Rule rule, Guard.Answer answer, MethodInvocation call) {
        mustBeAllowed(rule, answer);
        try {
            @SuppressWarnings("unchecked") // the method returns a stage
            CompletionStage<@Nullable Object> stage = (CompletionStage<@Nullable Object>) call.proceed();
            return stage == null ? CompletableFuture.completedFuture(null) : stage;
        } catch (Throwable e) {
            throw e instanceof RuntimeException unchecked ? unchecked : new CompletionException(e);
        }
    }
}
