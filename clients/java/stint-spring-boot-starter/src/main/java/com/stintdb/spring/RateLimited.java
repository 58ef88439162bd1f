package com.stintdb.spring;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Has calls of a bean's method checked by a policy on the server, for one token each. A denied call throws {@link RateLimitedException}, which the web
 * frameworks answer with 429, or 503 while nobody counts and the policy for that time denies.
 *
 * <p>A method that returns a value waits for the decision, at most for stint.timeout. One that returns a {@link java.util.concurrent.CompletionStage} does not
 * wait: its body runs on a thread of the application's task executor, and a denial is a failed stage. One that returns a type of Reactor, or another that
 * Spring adapts to it, asks at each subscription, and its body runs on a thread of {@code Schedulers.parallel()}.
 *
 * <p>Calls of an object on itself are not checked: Spring's proxies do not see them. Refused at the start: private, static and final methods, Kotlin's
 * suspending functions, expressions with names that are no parameters, and policies that the server does not have.
 */
@Target(ElementType.METHOD)
@Retention(RetentionPolicy.RUNTIME)
@Documented
public @interface RateLimited {
    /** The name of the policy. */
    String policy();

    /**
     * The caller's id, as an expression of SpEL on the arguments: {@code #user}, {@code #order.customer}, {@code 'all'} for one limit of all callers,
     * {@code @tenants.current()} for a method of a bean. Without names of parameters in the class file: {@code #p0}. A call with the id null or "" throws
     * {@link com.stintdb.client.InvalidException}.
     */
    String id();
}
