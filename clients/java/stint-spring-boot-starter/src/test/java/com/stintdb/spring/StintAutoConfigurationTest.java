package com.stintdb.spring;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.stintdb.client.ClosedException;
import com.stintdb.client.Limit;
import com.stintdb.client.Limiter;
import com.stintdb.client.Policy;
import com.stintdb.client.Source;
import com.stintdb.test.FakeServer;
import com.stintdb.test.StintServer;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.test.context.runner.WebApplicationContextRunner;
import org.springframework.mock.web.MockFilterChain;
import org.springframework.mock.web.MockHttpServletRequest;
import org.springframework.mock.web.MockHttpServletResponse;

class StintAutoConfigurationTest {
    private static final AutoConfigurations OURS = AutoConfigurations.of(StintAutoConfiguration.class);

    private final ApplicationContextRunner context = new ApplicationContextRunner().withConfiguration(OURS);
    private final FakeServer server = new FakeServer();

    @Test
    void limiterOfTheProperties() {
        try (StintServer real = StintServer.start(Path.of(System.getenv("SERVER_BINARY")))) {
            Limiter[] closed = new Limiter[1];
            context.withPropertyValues("stint.addresses=" + real.url(), "stint.when-down=fail-closed", "stint.timeout=30s", "stint.connect-timeout=30s").run(started -> {
                closed[0] = started.getBean(Limiter.class);
                assertEquals(Source.SERVER, closed[0].blocking().allow("k", Limit.perSecond(1)).source());
            });
            assertThrows(ClosedException.class, () -> closed[0].blocking().allow("k", Limit.perSecond(1)));
        }
    }

    /** The properties of docs/clients-java.md. */
    @Test
    void propertiesOfThePage() throws Exception {
        String page = Files.readString(Path.of(System.getProperty("repository"), "docs/clients-java.md"));
        String properties = page.split("```properties\n")[1].split("```")[0];
        new WebApplicationContextRunner().withConfiguration(OURS).withPropertyValues(properties.split("\n")).run(started -> {
            assertNotNull(started.getBean(Limiter.class));
            assertNotNull(started.getBean(StintFilter.class));
        });
    }

    @Test
    void badPropertiesAreNamedWithTheRemedy() {
        failure("stint.when-down: must be fail-open, fail-closed or local-share; there is no default");
        failure("stint.share: local-share needs it, such as 0.125", "stint.when-down=local-share");
        failure("localShare: must be above 0 and at most 1, got 2.0", "stint.when-down=local-share", "stint.share=2");
        failure("timeout: must be whole milliseconds", "stint.when-down=fail-open", "stint.timeout=0ms");
        failure("address: must be such as redis://127.0.0.1:6379, got \"stint:6379\"", "stint.when-down=fail-open", "stint.addresses=stint:6379");
    }

    private void failure(String sentence, String... properties) {
        context.withPropertyValues(properties).run(started -> {
            Throwable cause = started.getStartupFailure();
            assertNotNull(cause, sentence);
            while (cause.getCause() != null) {
                cause = cause.getCause();
            }
            assertTrue(cause.getMessage().startsWith(sentence), cause.getMessage());
        });
    }

    private WebApplicationContextRunner web() {
        return new WebApplicationContextRunner().withConfiguration(OURS).withBean(Limiter.class, () -> server.limiter(Policy.failClosed()).build());
    }

    private static MockHttpServletResponse respond(StintFilter filter, String user) throws Exception {
        MockHttpServletRequest request = new MockHttpServletRequest();
        request.setRemoteAddr("192.0.2.7");
        if (!user.isEmpty()) {
            request.setUserPrincipal(() -> user);
        }
        MockHttpServletResponse response = new MockHttpServletResponse();
        MockFilterChain chain = new MockFilterChain();
        filter.doFilter(request, response, chain);
        assertEquals(response.getStatus() == HttpServletResponse.SC_OK, chain.getRequest() != null);
        return response;
    }

    @Test
    void filterChecksByAPolicy() {
        server.setPolicy("web", Map.of("{}", Limit.perMinute(1)));
        web().withPropertyValues("stint.filter.policy=web", "stint.filter.order=7").run(started -> {
            StintFilter filter = started.getBean(StintFilter.class);
            assertEquals(7, filter.getOrder());
            MockHttpServletResponse allowed = respond(filter, "ann");
            assertEquals("\"web\";q=1", allowed.getHeader("RateLimit-Policy"));
            assertEquals("\"web\";r=0", allowed.getHeader("RateLimit"));
            MockHttpServletResponse denied = respond(filter, "ann");
            assertEquals(429, denied.getStatus());
            assertEquals("60", denied.getHeader("Retry-After"));
            assertEquals("application/problem+json", denied.getContentType());
            assertTrue(denied.getContentAsString(StandardCharsets.UTF_8).contains("\"violated-policies\":[\"web\"]"), denied.getContentAsString());
            assertEquals(200, respond(filter, "bob").getStatus());
            assertEquals(200, respond(filter, "").getStatus());
            server.setDown(true);
            MockHttpServletResponse unknown = respond(filter, "ann");
            assertEquals(503, unknown.getStatus());
            assertNull(unknown.getHeader("RateLimit"));
        });
    }

    @Test
    void anotherKeyAndNoFilter() {
        server.setPolicy("web", Map.of("{}", Limit.perMinute(1)));
        web().withPropertyValues("stint.filter.policy=web").withBean(CallerKey.class, () -> request -> "all").run(started -> {
            StintFilter filter = started.getBean(StintFilter.class);
            assertEquals(200, respond(filter, "ann").getStatus());
            assertEquals(429, respond(filter, "bob").getStatus());
        });
        web().withPropertyValues("stint.filter.policy=web").withBean(CallerKey.class, () -> HttpServletRequest::getRemoteUser).run(started -> {
            MockHttpServletResponse denied = respond(started.getBean(StintFilter.class), "cid");
            assertEquals(503, denied.getStatus());
            assertEquals("1", denied.getHeader("Retry-After"));
        });
        web().withPropertyValues("stint.filter.policy=web").withBean(CallerKey.class, () -> request -> "").run(started -> {
            assertEquals(200, respond(started.getBean(StintFilter.class), "dan").getStatus());
            assertEquals(429, respond(started.getBean(StintFilter.class), "eve").getStatus());
        });
        web().run(started -> assertTrue(started.getBeansOfType(StintFilter.class).isEmpty()));
    }
}
