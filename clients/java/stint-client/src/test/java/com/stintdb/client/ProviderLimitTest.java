package com.stintdb.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** What other services tell about their limits, as the vectors of all clients have it, and limits that follow. */
class ProviderLimitTest {
    @TestFactory
    Stream<DynamicTest> vectors() {
        JsonNode vectors = Vectors.read("provider.json");
        Instant now = Instant.ofEpochMilli(vectors.get("now_ms").asLong());
        return StreamSupport.stream(vectors.get("cases").spliterator(), false)
                .map(v -> DynamicTest.dynamicTest(v.get("name").asText(), () -> {
                    Map<String, List<String>> fields = new HashMap<>();
                    v.get("headers").properties().forEach(field -> fields.put(field.getKey(), List.of(field.getValue().asText())));
                    List<ProviderLimit> want = new ArrayList<>();
                    v.get("limits").forEach(limit -> want.add(limit(limit)));
                    List<ProviderLimit> told = ProviderLimit.read(fields, now);
                    assertEquals(want, told);
                    assertEquals(Duration.ofMillis(v.get("pause_ms").asLong()), ProviderLimit.pause(v.get("status").asInt(), fields, told, now));
                }));
    }

    private static ProviderLimit limit(JsonNode v) {
        OptionalLong most = v.has("limit") ? OptionalLong.of(v.get("limit").asLong()) : OptionalLong.empty();
        Duration reset = v.has("reset_ms") ? Duration.ofMillis(v.get("reset_ms").asLong()) : null;
        return new ProviderLimit(v.get("unit").asText(), v.get("remaining").asLong(), most, reset);
    }

    @Test
    void limitsFollow() {
        FakeDriver driver = new FakeDriver(words -> CompletableFuture.completedFuture(List.of(60L, 100L, 40L, 0L, 6000L)));
        try (Limiter limiter = Limiter.builder(Policy.failClosed(), driver).build()) {
            BlockingLimiter calls = limiter.blocking();
            Limit bucket = Limit.perSecond(10).burst(100);
            assertEquals(new Result(true, 60, 100, 40, 0, 0, 6000, Source.SERVER, null), calls.atMost("api", bucket, 40));
            Map<String, List<String>> fields = Map.of(
                    "X-RateLimit-Remaining-Requests", List.of("7"), "x-ratelimit-remaining-tokens", List.of("0"),
                    "x-ratelimit-reset-tokens", List.of("2s"), "retry-after", List.of("1"));
            Map<String, Keyed> limits = Map.of("requests", Keyed.of("api", Limit.window(1000, "@month").history(12)), "input-tokens", Keyed.of("in", bucket));
            assertEquals(Duration.ofSeconds(2), calls.follow(429, fields, limits));
            assertEquals(Duration.ZERO, calls.follow(200, Map.of(), limits));
            List<String> sent = driver.sent.stream().map(words -> String.join(" ", words)).toList();
            assertEquals(List.of("RL.ATMOST api TB 100 10/1000ms 40", "RL.ATMOST api FW 1000 @month 7 HISTORY 12"), sent);
            Limit place = Limit.concurrency(5, Duration.ofMinutes(1), "job");
            assertTrue(assertThrows(InvalidException.class, () -> calls.atMost("api", place, 1)).getMessage().startsWith("limit:"));
            assertThrows(InvalidException.class, () -> calls.atMost("api", bucket, -1));
        }
    }
}
