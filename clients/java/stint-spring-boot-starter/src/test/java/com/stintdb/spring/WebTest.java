package com.stintdb.spring;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.stintdb.client.Limit;
import com.stintdb.client.Limiter;
import com.stintdb.client.Policy;
import com.stintdb.test.FakeServer;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.ControllerAdvice;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.RestController;
import reactor.core.publisher.Mono;

/** Whole applications over HTTP: one context for the tests of a framework. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
abstract class WebTest {
    static final FakeServer SERVER = new FakeServer();

    @RestController
    static class Orders {
        @GetMapping("/now/{user}")
        @RateLimited(policy = "calls", id = "#p0")
        public String now(@PathVariable("user") String user) {
            return "order of " + user;
        }

        @GetMapping("/later/{user}")
        @RateLimited(policy = "calls", id = "#p0")
        public CompletableFuture<String> later(@PathVariable("user") String user) {
            return CompletableFuture.completedFuture("order of " + user);
        }

        @GetMapping("/reactive/{user}")
        @RateLimited(policy = "calls", id = "#p0")
        public Mono<String> reactive(@PathVariable("user") String user) {
            return Mono.just("order of " + user);
        }
    }

    /** As many applications have one. It must not hide denials. */
    @ControllerAdvice
    static class CatchAll {
        @ExceptionHandler
        ResponseEntity<String> any(Exception e) {
            return ResponseEntity.status(500).body("caught " + e);
        }
    }

    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration(excludeName = "org.springframework.cloud.gateway.server.mvc.filter.FilterAutoConfiguration") // of the module spring-boot-3
    static class Application {
        @Bean
        Limiter limiter() {
            return SERVER.limiter(Policy.failClosed()).build();
        }

        @Bean
        Orders orders() {
            return new Orders();
        }

        @Bean
        CatchAll catchAll() {
            return new CatchAll();
        }
    }

    private final HttpClient client = HttpClient.newHttpClient();
    private final ConfigurableApplicationContext context;

    WebTest(WebApplicationType type) {
        SERVER.setPolicy("calls", Map.of("call:{}", Limit.perMinute(1)));
        SERVER.setPolicy("web", Map.of("web:{}", Limit.perMinute(100)));
        context = new SpringApplicationBuilder(Application.class)
                .web(type)
                .properties("server.port=0", "server.shutdown=immediate", "server.address=127.0.0.1")
                .properties("spring.cloud.gateway.server.webflux.enabled=false", "spring.cloud.gateway.server.webmvc.enabled=false")
                .properties("spring.main.banner-mode=off", "logging.level.root=warn", "stint.filter.policy=web")
                .run();
    }

    @BeforeEach
    void reset() {
        SERVER.setDown(false);
        SERVER.clock().advance(Duration.ofHours(1));
    }

    @AfterAll
    void stop() {
        context.close();
    }

    private HttpResponse<String> get(String path) throws Exception {
        String port = context.getEnvironment().getProperty("local.server.port");
        return client.send(HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + path)).build(), HttpResponse.BodyHandlers.ofString());
    }

    private static String field(HttpResponse<?> response, String name) {
        return response.headers().firstValue(name).orElse("");
    }

    @Test
    void methodsOfControllers() throws Exception {
        for (String path : new String[] {"/now/ann", "/later/bob", "/reactive/carl"}) {
            HttpResponse<String> granted = get(path);
            assertEquals(200, granted.statusCode(), path);
            assertEquals("order of " + path.split("/")[2], granted.body());
            HttpResponse<String> denied = get(path);
            assertEquals(429, denied.statusCode(), path + denied.body());
            assertEquals("60", field(denied, "Retry-After"));
            assertEquals("\"calls\";r=0;t=60", field(denied, "RateLimit"));
            assertEquals("application/problem+json", field(denied, "Content-Type"));
            assertTrue(denied.body().contains("\"violated-policies\":[\"calls\"]"), denied.body());
        }
    }

    @Test
    void filterChecksEachRequest() throws Exception {
        HttpResponse<String> missing = get("/nothing");
        assertEquals("\"web\";q=100", field(missing, "RateLimit-Policy"));
        assertEquals("\"web\";r=99", field(missing, "RateLimit"));
        for (int i = 0; i < 99; i++) {
            get("/nothing");
        }
        HttpResponse<String> denied = get("/nothing");
        assertEquals(429, denied.statusCode());
        assertEquals("1", field(denied, "Retry-After"));
        assertTrue(denied.body().contains("\"violated-policies\":[\"web\"]"), denied.body());
    }

    @Test
    void whileStintIsGone() throws Exception {
        SERVER.setDown(true);
        HttpResponse<String> denied = get("/now/ann");
        assertEquals(503, denied.statusCode());
        assertEquals("1", field(denied, "Retry-After"));
        assertFalse(denied.headers().firstValue("RateLimit").isPresent());
        assertTrue(denied.body().contains("temporary-reduced-capacity"), denied.body());
    }
}
