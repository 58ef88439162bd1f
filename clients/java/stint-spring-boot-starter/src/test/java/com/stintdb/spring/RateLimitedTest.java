package com.stintdb.spring;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.stintdb.client.InvalidException;
import com.stintdb.client.Limit;
import com.stintdb.client.Limiter;
import com.stintdb.client.LimiterBuilder;
import com.stintdb.client.Policy;
import com.stintdb.client.RefusedException;
import com.stintdb.client.Request;
import com.stintdb.client.spi.Driver;
import com.stintdb.client.web.Guard;
import com.stintdb.test.FakeServer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.autoconfigure.task.TaskExecutionAutoConfiguration;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

class RateLimitedTest {
    private final FakeServer server = new FakeServer();
    private final ApplicationContextRunner context = new ApplicationContextRunner()
            .withConfiguration(AutoConfigurations.of(StintAutoConfiguration.class, TaskExecutionAutoConfiguration.class))
            .withBean(Limiter.class, () -> server.limiter(Policy.failClosed()).build())
            .withBean("tenants", Tenants.class);

    RateLimitedTest() {
        server.setPolicy("calls", Map.of("{}", Limit.perMinute(1)));
    }

    static class Tenants {
        public String current() {
            return "acme";
        }
    }

    interface Named {
        String ofInterface(String user);
    }

    static class Shop implements Named {
        @RateLimited(policy = "calls", id = "#user")
        public String order(@Nullable String user) {
            return "order of " + user;
        }

        @Override
        @RateLimited(policy = "calls", id = "#p0")
        public String ofInterface(String user) {
            return user;
        }

        @RateLimited(policy = "calls", id = "@tenants.current() + ':' + #user.length()")
        public void ofTenant(String user) {}

        @RateLimited(policy = "calls", id = "#user")
        public CompletionStage<String> later(String user) {
            return CompletableFuture.completedFuture(Thread.currentThread().getName());
        }

        @RateLimited(policy = "calls", id = "#user")
        public CompletableFuture<String> fails(String user) {
            throw new IllegalStateException("the body failed");
        }

        @RateLimited(policy = "calls", id = "#user")
        public Mono<String> one(String user) {
            return Mono.just(Thread.currentThread().getName());
        }

        @RateLimited(policy = "calls", id = "#user")
        public Flux<Integer> several(String user) {
            return Flux.just(1, 2, 3);
        }
    }

    @Test
    void methodsThatWait() {
        context.withBean(Shop.class).run(started -> {
            Shop shop = started.getBean(Shop.class);
            assertEquals("order of ann", shop.order("ann"));
            RateLimitedException denied = assertThrows(RateLimitedException.class, () -> shop.order("ann"));
            assertEquals("rate limit calls: denied, ask again in 60000 ms", denied.getMessage());
            assertEquals(Duration.ofMinutes(1), denied.retryAfter());
            assertEquals(429, denied.answer().status());
            assertEquals("60", denied.answer().fields().get("Retry-After"));
            assertEquals("bob", shop.ofInterface("bob"));
            assertThrows(RateLimitedException.class, () -> ((Named) shop).ofInterface("bob"));
            shop.ofTenant("ann");
            assertThrows(RateLimitedException.class, () -> shop.ofTenant("bob"), "acme:3 is one caller");
            for (String nobody : new String[] {null, ""}) {
                String message = assertThrows(InvalidException.class, () -> shop.order(nobody)).getMessage();
                assertTrue(message.startsWith("@RateLimited on Shop.order: id \"#user\" is " + (nobody == null ? "null" : "empty")), message);
            }
            server.setDown(true);
            RateLimitedException unknown = assertThrows(RateLimitedException.class, () -> shop.order("carl"));
            assertEquals(503, unknown.answer().status());
            assertEquals("rate limit calls: nobody counts at present, and the policy for that time denies", unknown.getMessage());
        });
    }

    @Test
    void stages() {
        context.withBean(Shop.class).run(started -> {
            Shop shop = started.getBean(Shop.class);
            String thread = shop.later("ann").toCompletableFuture().join();
            assertTrue(thread.startsWith("task-"), thread);
            CompletionStage<String> denied = shop.later("ann");
            CompletionException failure = assertThrows(CompletionException.class, () -> denied.toCompletableFuture().join());
            assertEquals(RateLimitedException.class, failure.getCause().getClass());
            assertEquals("the body failed", assertThrows(CompletionException.class, () -> shop.fails("bob").join()).getCause().getMessage());
        });
    }

    @Test
    void reactiveMethodsAskAtEachSubscription() {
        context.withBean(Shop.class).run(started -> {
            Shop shop = started.getBean(Shop.class);
            Mono<String> one = shop.one("ann");
            String thread = one.block();
            assertTrue(thread.startsWith("parallel-"), thread);
            assertThrows(RateLimitedException.class, one::block, "the second subscription");
            server.clock().advance(Duration.ofMinutes(1));
            assertTrue(one.block().startsWith("parallel-"));
            assertEquals(List.of(1, 2, 3), shop.several("bob").collectList().block());
            assertThrows(RateLimitedException.class, () -> shop.several("bob").blockLast());
            assertEquals(List.of(), shop.several("bob").onErrorResume(RateLimitedException.class, denied -> Flux.empty()).collectList().block());
        });
    }

    @Test
    void aCallThatCanNeverBeGranted() {
        server.setPolicy("never", Map.of("{}", Limit.perMinute(1)));
        assertNull(new RateLimitedException(
                "never", Guard.byPolicy(server.limiter(), "never").decide("k", Request.of(2)).toCompletableFuture().join()).retryAfter());
    }

    static class NoPolicy {
        @RateLimited(policy = "", id = "#user")
        public void call(String user) {}
    }

    static class UnknownPolicy {
        @RateLimited(policy = "cals", id = "#user")
        public void call(String user) {}
    }

    static class NoId {
        @RateLimited(policy = "calls", id = " ")
        public void call(String user) {}
    }

    static class NoExpression {
        @RateLimited(policy = "calls", id = "#user +")
        public void call(String user) {}
    }

    static class NoParameter {
        @RateLimited(policy = "calls", id = "#usr.name")
        public void call(String user) {}
    }

    static class Hidden {
        @RateLimited(policy = "calls", id = "#user")
        private void call(String user) {}
    }

    static class Fixed {
        @RateLimited(policy = "calls", id = "#user")
        public final void call(String user) {}
    }

    @Test
    void mistakesEndTheStart() {
        refused(NoPolicy.class, NoPolicy::new, "@RateLimited on NoPolicy.call: needs the name of a policy on the server, got \"\"");
        refused(UnknownPolicy.class, UnknownPolicy::new, "@RateLimited on UnknownPolicy.call: the server refuses checks by the policy \"cals\": ERR no such policy 'cals'");
        refused(NoId.class, NoId::new, "@RateLimited on NoId.call: id needs an expression such as \"#user\", or \"'all'\"");
        refused(NoExpression.class, NoExpression::new, "@RateLimited on NoExpression.call: id must be an expression such as \"#user\", got \"#user +\"");
        refused(NoParameter.class, NoParameter::new, "@RateLimited on NoParameter.call: id \"#usr.name\" has #usr, which is no parameter; the parameters are");
        refused(Hidden.class, Hidden::new, "@RateLimited on Hidden.call: calls of private, static and final methods cannot be checked");
        refused(Fixed.class, Fixed::new, "@RateLimited on Fixed.call: calls of private, static and final methods cannot be checked");
    }

    private <T> void refused(Class<T> type, Supplier<T> make, String sentence) {
        context.withBean(type, make).run(started -> {
            Throwable cause = started.getStartupFailure();
            assertTrue(cause != null, sentence);
            while (cause.getCause() != null) {
                cause = cause.getCause();
            }
            assertTrue(cause.getMessage().startsWith(sentence), cause.getMessage());
            assertEquals(cause.getMessage(), new InvalidFailureAnalyzer().analyze(started.getStartupFailure()).getDescription());
        });
    }

    @Test
    void startsWhileStintIsGone() {
        server.setDown(true);
        context.withBean(UnknownPolicy.class).run(started -> assertFalse(started.getBeansOfType(UnknownPolicy.class).isEmpty()));
    }

    /** On a cold machine the first reply comes after the time that a request has. Here it comes after a PING, sent later, has already failed. */
    @Test
    void waitsForALateReplyAtTheStart() {
        AtomicReference<@Nullable Limiter> slow = new AtomicReference<>();
        LimiterBuilder builder = Limiter.builder(Policy.failOpen(), new Driver() {
            @Override
            public CompletableFuture<@Nullable Object> send(byte[][] words) {
                if (!new String(words[0], StandardCharsets.US_ASCII).equals("RL.CHECK")) {
                    return new CompletableFuture<>();
                }
                return Objects.requireNonNull(slow.get()).ping().toCompletableFuture().handle((nothing, timeout) -> {
                    throw new RefusedException("ERR no such policy 'cals'");
                });
            }

            @Override
            public void close() {}

            @Override
            public Executor executor() {
                return Runnable::run;
            }
        });
        slow.set(builder.timeout(Duration.ofMillis(1)).connectTimeout(Duration.ofSeconds(30)).build());
        new ApplicationContextRunner()
                .withConfiguration(AutoConfigurations.of(StintAutoConfiguration.class, TaskExecutionAutoConfiguration.class))
                .withBean(Limiter.class, slow::get)
                .withBean(UnknownPolicy.class)
                .run(started -> assertInstanceOf(InvalidException.class, started.getStartupFailure()));
    }
}
