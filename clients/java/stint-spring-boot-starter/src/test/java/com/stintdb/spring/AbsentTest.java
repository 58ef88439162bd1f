package com.stintdb.spring;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.stintdb.client.Limit;
import com.stintdb.client.Limiter;
import com.stintdb.client.Policy;
import com.stintdb.test.FakeServer;
import java.io.File;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ReactiveWebApplicationContextRunner;
import org.springframework.boot.test.context.runner.WebApplicationContextRunner;

/** No class of a dependency that is not there is loaded, and every property is described. */
class AbsentTest {
    private static final AutoConfigurations OURS = AutoConfigurations.of(StintAutoConfiguration.class);
    private static final String[] OPTIONAL = {
        "io.micrometer", "org.springframework.boot.health", "org.springframework.boot.actuate", "io.github.bucket4j", "com.stintdb.bucket4j", "org.aspectj"
    };
    private static final String[] OPTIONAL_CLASSES = {
        "jakarta.servlet.Filter", "org.springframework.web.server.WebFilter", "io.micrometer.core.instrument.MeterRegistry",
        "org.springframework.boot.health.contributor.Health", "com.stintdb.bucket4j.StintProxyManager", "io.github.bucket4j.Bucket"
    };

    private final FakeServer server = new FakeServer();

    /** A class loader without the optional jars, as in an application that has none of them. */
    @Test
    void withoutAll() throws Exception {
        URL[] jars = Arrays.stream(System.getProperty("java.class.path").split(File.pathSeparator))
                .filter(path -> !path.replaceAll(".*/", "").matches("(spring-web|spring-boot-(health|actuator|web|tomcat|micrometer)|micrometer|tomcat|jakarta|bucket4j|aspectj).*"))
                .filter(path -> !path.contains("stint-bucket4j"))
                .map(AbsentTest::url)
                .toArray(URL[]::new);
        ClassLoader before = Thread.currentThread().getContextClassLoader();
        try (URLClassLoader bare = new URLClassLoader(jars, ClassLoader.getPlatformClassLoader())) {
            Thread.currentThread().setContextClassLoader(bare);
            for (String optional : OPTIONAL_CLASSES) {
                assertThrows(ClassNotFoundException.class, () -> bare.loadClass(optional));
            }
            bare.loadClass(BareApplication.class.getName()).getMethod("main", String[].class).invoke(null, (Object) new String[0]);
        } finally {
            Thread.currentThread().setContextClassLoader(before);
        }
    }

    private static URL url(String path) {
        try {
            return Path.of(path).toUri().toURL();
        } catch (MalformedURLException e) {
            throw new IllegalArgumentException(e);
        }
    }

    /** The filter of each framework without the other framework, and without the rest. */
    @Test
    void filterAlone() {
        server.setPolicy("web", Map.of("{}", Limit.perMinute(1)));
        new WebApplicationContextRunner()
                .withConfiguration(OURS)
                .withClassLoader(without("org.springframework.web.reactive", "org.springframework.web.server"))
                .withBean(Limiter.class, () -> server.limiter(Policy.failOpen()).build())
                .withPropertyValues("stint.filter.policy=web")
                .run(started -> assertTrue(started.containsBean("stintFilter")));
        new ReactiveWebApplicationContextRunner()
                .withConfiguration(OURS)
                .withClassLoader(without("jakarta.servlet", "org.springframework.web.servlet"))
                .withBean(Limiter.class, () -> server.limiter(Policy.failOpen()).build())
                .withPropertyValues("stint.filter.policy=web")
                .run(started -> assertTrue(started.containsBean("stintWebFilter")));
    }

    private static FilteredClassLoader without(String... others) {
        return new FilteredClassLoader(Stream.concat(Arrays.stream(others), Arrays.stream(OPTIONAL)).toArray(String[]::new));
    }

    @Test
    void everyPropertyIsDescribed() throws Exception {
        JsonNode metadata = new ObjectMapper().readTree(StintProperties.class.getResourceAsStream("/META-INF/spring-configuration-metadata.json"));
        int properties = 0;
        for (JsonNode property : metadata.get("properties")) {
            assertTrue(property.path("description").asText().endsWith("."), property::toString);
            assertFalse(property.path("type").asText().isEmpty(), property::toString);
            properties++;
        }
        assertEquals(8, properties);
    }
}
