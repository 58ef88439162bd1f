package com.stintdb.spring.gateway;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.stintdb.client.Limit;
import com.stintdb.client.Limiter;
import com.stintdb.client.Policy;
import com.stintdb.test.FakeServer;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.cloud.gateway.event.FilterArgsEvent;
import org.springframework.cloud.gateway.filter.ratelimit.KeyResolver;
import org.springframework.cloud.gateway.server.mvc.filter.BeforeFilterFunctions;
import org.springframework.cloud.gateway.server.mvc.filter.Bucket4jFilterFunctions;
import org.springframework.cloud.gateway.server.mvc.handler.GatewayRouterFunctions;
import org.springframework.cloud.gateway.server.mvc.handler.HandlerFunctions;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.web.servlet.function.RouterFunction;
import org.springframework.web.servlet.function.ServerResponse;
import reactor.core.publisher.Mono;

/** Requests through real gateways, on WebFlux and on WebMVC, to a tiny backend. */
class GatewayTest {
    private static final FakeServer SERVER = new FakeServer();
    private static final HttpClient CLIENT = HttpClient.newHttpClient();
    private static HttpServer backend;

    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration(excludeName = "org.springframework.cloud.gateway.server.mvc.filter.FilterAutoConfiguration") // the other gateway is here too
    static class Reactive {
        @Bean
        Limiter limiter() {
            return SERVER.limiter(Policy.failClosed()).build();
        }

        @Bean
        KeyResolver user() {
            return exchange -> Mono.justOrEmpty(exchange.getRequest().getHeaders().getFirst("X-User"));
        }
    }

    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration
    static class Servlet {
        @Bean
        Limiter limiter() {
            return SERVER.limiter(Policy.failClosed()).build();
        }

        @Bean
        RouterFunction<ServerResponse> route() {
            return GatewayRouterFunctions.route("r")
                    .GET("/r/**", HandlerFunctions.http())
                    .before(BeforeFilterFunctions.uri("http://127.0.0.1:" + backend.getAddress().getPort()))
                    .filter(Bucket4jFilterFunctions.rateLimit(2, Duration.ofMinutes(1), request -> request.headers().firstHeader("X-User")))
                    .build();
        }
    }

    @BeforeAll
    static void start() throws IOException {
        backend = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        backend.createContext("/", exchange -> {
            byte[] body = "from the backend".getBytes(StandardCharsets.UTF_8);
            exchange.sendResponseHeaders(200, body.length);
            try (OutputStream out = exchange.getResponseBody()) {
                out.write(body);
            }
        });
        backend.start();
        SERVER.setPolicy("web", Map.of("web:{}", Limit.perMinute(1)));
    }

    @AfterAll
    static void stop() {
        backend.stop(0);
    }

    @BeforeEach
    void reset() {
        SERVER.setDown(false);
        SERVER.clock().advance(Duration.ofHours(1));
    }

    private static ConfigurableApplicationContext run(Class<?> application, WebApplicationType type, String... properties) {
        List<String> all = new ArrayList<>(List.of(properties));
        String other = type == WebApplicationType.REACTIVE ? "webmvc" : "webflux";
        all.addAll(List.of(
                "server.port=0", "server.shutdown=immediate", "server.address=127.0.0.1", "spring.main.banner-mode=off", "logging.level.root=warn",
                "spring.cloud.gateway.server." + other + ".enabled=false", "spring.cloud.gateway.server.webflux.redis.enabled=false"));
        return new SpringApplicationBuilder(application).web(type).properties(all.toArray(new String[0])).run();
    }

    /** The second properties of docs/clients-java.md, for paths that begin with /policy. */
    private static List<String> routeOfThePage() throws IOException {
        String page = Files.readString(Path.of(System.getProperty("repository"), "docs/clients-java.md"));
        String properties = page.split("```properties\n")[2].split("```")[0];
        assertTrue(properties.contains("args.stint-rate-limiter.policy=web"), properties);
        return List.of(properties.replace("http://127.0.0.1:9000", "http://127.0.0.1:" + backend.getAddress().getPort()).replace("Path=/**", "Path=/policy/**").split("\n"));
    }

    /** The properties of a route of the gateway on WebFlux with the filter RequestRateLimiter. */
    private static List<String> route(int at, String id, String... arguments) {
        String route = "spring.cloud.gateway.server.webflux.routes[" + at + "].";
        List<String> lines = new ArrayList<>(List.of(
                route + "id=" + id, route + "uri=http://127.0.0.1:" + backend.getAddress().getPort(), route + "predicates[0]=Path=/" + id + "/**",
                route + "filters[0].name=RequestRateLimiter"));
        for (String argument : arguments) {
            lines.add(route + "filters[0].args." + argument);
        }
        return lines;
    }

    private static HttpResponse<String> get(ConfigurableApplicationContext context, String path, String user) throws Exception {
        String port = context.getEnvironment().getProperty("local.server.port");
        HttpRequest request = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + path)).header("X-User", user).build();
        return CLIENT.send(request, HttpResponse.BodyHandlers.ofString());
    }

    private static String field(HttpResponse<?> response, String name) {
        return response.headers().firstValue(name).orElse("");
    }

    @Test
    void webFlux() throws Exception {
        List<String> properties = new ArrayList<>(routeOfThePage());
        properties.addAll(route(1, "limit", "stint-rate-limiter.limit=TB 3 3/m", "stint-rate-limiter.tokens=2"));
        try (ConfigurableApplicationContext context = run(Reactive.class, WebApplicationType.REACTIVE, properties.toArray(new String[0]))) {
            HttpResponse<String> granted = get(context, "/policy/a", "ann");
            assertEquals(200, granted.statusCode(), granted.body());
            assertEquals("from the backend", granted.body());
            assertEquals("\"web\";q=1", field(granted, "RateLimit-Policy"));
            assertEquals("\"web\";r=0", field(granted, "RateLimit"));
            HttpResponse<String> denied = get(context, "/policy/a", "ann");
            assertEquals(429, denied.statusCode());
            assertEquals("60", field(denied, "Retry-After"));
            assertEquals("no-store", field(denied, "Cache-Control"));
            assertEquals(200, get(context, "/policy/a", "bob").statusCode());

            assertEquals("\"limit\";q=3;w=60", field(get(context, "/limit/a", "ann"), "RateLimit-Policy"));
            assertEquals(429, get(context, "/limit/a", "ann").statusCode());
            assertEquals(1L, SERVER.execute("DEL", "limit:ann"), "its key");
            refused(context, "route r: needs stint-rate-limiter.policy or stint-rate-limiter.limit", Map.of("stint-rate-limiter.tokens", 1));
            refused(context, "route r: needs stint-rate-limiter.policy or", Map.of("stint-rate-limiter.policy", "web", "stint-rate-limiter.limit", "1/m"));
            refused(context, "tokens: must be", Map.of("stint-rate-limiter.policy", "web", "stint-rate-limiter.tokens", 0));
            refused(context, "a rate must be", Map.of("stint-rate-limiter.limit", "many"));

            SERVER.setDown(true);
            HttpResponse<String> unknown = get(context, "/policy/a", "carl");
            assertEquals(503, unknown.statusCode());
            assertEquals("1", field(unknown, "Retry-After"));
            assertFalse(unknown.headers().firstValue("RateLimit").isPresent());
        }
    }

    /** Found when the routes are read, at the start. */
    private static void refused(ConfigurableApplicationContext context, String sentence, Map<String, Object> arguments) {
        Throwable cause = assertThrows(RuntimeException.class, () -> context.publishEvent(new FilterArgsEvent(context, "r", arguments)));
        while (cause.getCause() != null) {
            cause = cause.getCause();
        }
        assertTrue(cause.getMessage().startsWith(sentence), cause.getMessage());
    }

    /** WebMVC's filter of Bucket4j asks for a bean of the type AsyncProxyManager, which the starter makes of stint-bucket4j. */
    @Test
    void webMvc() throws Exception {
        try (ConfigurableApplicationContext context = run(Servlet.class, WebApplicationType.SERVLET)) {
            HttpResponse<String> granted = get(context, "/r/a", "ann");
            assertEquals(200, granted.statusCode(), granted.body());
            assertEquals("from the backend", granted.body());
            assertEquals("1", field(granted, "X-RateLimit-Remaining"));
            assertEquals("0", field(get(context, "/r/a", "ann"), "X-RateLimit-Remaining"));
            HttpResponse<String> denied = get(context, "/r/a", "ann");
            assertEquals(429, denied.statusCode());
            assertEquals("0", field(denied, "X-RateLimit-Remaining"));
            assertEquals(200, get(context, "/r/a", "bob").statusCode());
            SERVER.setDown(true);
            assertEquals(429, get(context, "/r/a", "carl").statusCode(), "the filter knows no other denial");
        }
    }
}
