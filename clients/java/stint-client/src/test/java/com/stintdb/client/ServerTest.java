package com.stintdb.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** A limiter and a real server. */
class ServerTest {
    private static RealServer server;
    private static Limiter limiter;

    @BeforeAll
    static void start() throws Exception {
        server = new RealServer();
        limiter = Limiter.builder(Policy.failClosed(), server.url()).timeout(Duration.ofSeconds(30)).connectTimeout(Duration.ofSeconds(30)).build();
    }

    @AfterAll
    static void stop() {
        limiter.close();
        server.close();
    }

    @Test
    void limitOfRedisCell() {
        Limit limit = Limit.gcra(2, 1, 60);
        assertEquals(new Result(true, 1, 3, 2, 0, 0, 60_000, Source.SERVER, null), limiter.blocking().allow("cell", limit));
        assertTrue(limiter.blocking().allow("cell", limit, 2).allowed());
        Result denied = limiter.blocking().allow("cell", limit);
        assertFalse(denied.allowed());
        assertEquals(60_000, denied.retryAfterMs());
    }

    @Test
    void policyWithFields() throws Exception {
        try (Admin admin = new Admin(server)) {
            admin.run("RL.POLICY", "SET", "api", "FW", "user:{}", "3", "1d", "FW", "team:{team}", "2", "1d");
        }
        Request request = Request.one().field("team", "ä");
        for (int left = 1; left >= 0; left--) {
            MultiResult result = limiter.blocking().check("api", "7", request);
            assertTrue(result.allowed());
            assertNull(result.cause());
            assertEquals(left, result.tightest().remaining());
        }
        MultiResult denied = limiter.blocking().check("api", "7", request);
        assertFalse(denied.allowed());
        assertEquals(1, denied.binding());
        assertEquals(1, denied.limits().get(0).remaining());
    }
}
