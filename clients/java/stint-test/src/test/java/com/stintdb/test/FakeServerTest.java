package com.stintdb.test;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.stintdb.client.BlockingLimiter;
import com.stintdb.client.Charge;
import com.stintdb.client.DeniedException;
import com.stintdb.client.InvalidException;
import com.stintdb.client.Keyed;
import com.stintdb.client.LateSettlements;
import com.stintdb.client.Limit;
import com.stintdb.client.MultiResult;
import com.stintdb.client.Policy;
import com.stintdb.client.RefusedException;
import com.stintdb.client.Request;
import com.stintdb.client.Reserved;
import com.stintdb.client.Source;
import com.stintdb.client.StintException;
import com.stintdb.client.web.Guard;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Programs with a server in memory. */
class FakeServerTest {
    private final FakeServer server = new FakeServer();
    private final BlockingLimiter fake = server.limiter().blocking();

    /** The times at which the first token comes back, when all were taken at 00:00:00.4 on Saturday, 1 January 2000. */
    static Stream<Arguments> times() {
        long day = 86_400_000;
        return Stream.of(
                Arguments.of(Limit.perSecond(3), 334),
                Arguments.of(Limit.gcra(2, 1, 2), 2000),
                Arguments.of(Limit.window(3, Duration.ofSeconds(5)), 5000),
                Arguments.of(Limit.window(3, "@minute"), 59_600),
                Arguments.of(Limit.window(3, "@day"), day - 400),
                Arguments.of(Limit.window(3, "@week"), 2 * day - 400),
                Arguments.of(Limit.window(3, "@month"), 31 * day - 400),
                Arguments.of(Limit.window(3, "@quarter"), 91 * day - 400),
                Arguments.of(Limit.window(3, "@year"), 366 * day - 400),
                Arguments.of(Limit.window(3, "@15m"), 899_600),
                Arguments.of(Limit.slidingLog(3, Duration.ofSeconds(7)), 7000),
                Arguments.of(Limit.slidingWindow(3, Duration.ofSeconds(10)), 12_934), // a third of the next window
                Arguments.of(Limit.parse("TB 3 0.1"), 10_000)); // a rate that is no double
    }

    @ParameterizedTest
    @MethodSource("times")
    void timePasses(Limit limit, long ms) {
        server.clock().advance(Duration.ofMillis(400));
        assertEquals(0, fake.allow("k", limit, 3).remaining());
        assertEquals(ms, fake.allow("k", limit).retryAfterMs());
        server.clock().advance(Duration.ofMillis(ms - 1));
        assertFalse(fake.allow("k", limit).allowed());
        server.clock().advance(Duration.ofMillis(1));
        assertTrue(fake.allow("k", limit).allowed());
    }

    @Test
    void waitSetsTheClockAhead() throws Exception {
        Instant begun = server.clock().now();
        for (Limit limit : List.of(Limit.perMinute(1), Limit.window(1, Duration.ofMinutes(1)))) {
            for (int i = 0; i < 4; i++) {
                fake.await(limit.toString(), limit, 1, Duration.ofHours(1));
            }
        }
        assertEquals(Duration.ofMinutes(6), Duration.between(begun, server.clock().now()));
        Limit queue = Limit.perMinute(1).queue(5);
        assertEquals(0, fake.await("queue", queue, 1, Duration.ofHours(1)).waitMs());
        assertEquals(60_000, fake.await("queue", queue, 1, Duration.ofHours(1)).waitMs());
        DeniedException denied = assertThrows(DeniedException.class, () -> fake.await("queue", queue, 1, Duration.ofSeconds(30)));
        assertTrue(denied.getMessage().contains("60000 ms away"), denied.getMessage());
    }

    @Test
    void reservations() {
        Map<String, Limit> limits = new LinkedHashMap<>();
        limits.put("tokens:{}", Limit.parse("TB 100 1/d"));
        limits.put("calls:{}", Limit.parse("FW 10 1m"));
        server.setPolicy("llm", limits);
        Duration remember = Duration.ofMinutes(10);
        Reserved reserved = fake.reserving("llm", "7", Request.of(8).id("a", remember));
        try (reserved) {
            reserved.settle(3);
        }
        assertEquals(List.of(3L, 3L), reserved.charges().stream().map(Charge::charged).toList());
        assertEquals(97, fake.peek("tokens:7", Limit.parse("TB 100 1/d"), 1).remaining() + 1);
        assertTrue(assertThrows(RefusedException.class, () -> fake.settle("a", 4)).getMessage().contains("settled or canceled with other amounts"));
        assertThrows(RefusedException.class, () -> fake.check("llm", "7", Request.of(9).id("a", remember)));
        fake.check("llm", "7", Request.of(5).id("b", remember));
        server.clock().advance(Duration.ofMinutes(1));
        fake.check("llm", "7", Request.of(6));
        assertEquals(4, fake.cancel("b").get(1).remaining()); // nothing goes back to another window
        server.clock().advance(Duration.ofMinutes(9));
        assertEquals(null, fake.cancel("a"));
    }

    @Test
    void anonymousCallersOfGuards() {
        server.setPolicy("web", Map.of("{tenant}:{}", Limit.perDay(1)));
        Guard guard = Guard.byPolicy(server.limiter(), "web");
        for (String tenant : List.of("", "acme")) {
            for (int status : new int[] {200, 429}) {
                assertEquals(status, guard.decide("", Request.one().field("tenant", tenant)).toCompletableFuture().join().status(), tenant);
            }
        }
    }

    @Test
    void settlementsThatComeTooLate() {
        fake.settle("earlier", 3); // as another test may
        LateSettlements.forget();
        List<String> warnings = new ArrayList<>();
        Logger log = Logger.getLogger("com.stintdb.client");
        Handler handler = new Handler() {
            @Override
            public void publish(LogRecord record) {
                warnings.add(record.getMessage());
            }

            @Override
            public void flush() {}

            @Override
            public void close() {}
        };
        log.addHandler(handler);
        for (boolean isSettled : new boolean[] {false, true, true}) {
            Reserved reserved = fake.reserving(List.of(Keyed.of("late", Limit.perDay(100))), Request.of(8).id("late:" + isSettled, Duration.ofMinutes(1)));
            server.clock().advance(Duration.ofMinutes(2));
            try (reserved) {
                if (isSettled) {
                    reserved.settle(3);
                }
            }
            assertEquals(null, reserved.charges());
            assertTrue(reserved.error().getMessage().contains("all that was reserved stays taken"), reserved.error().getMessage());
        }
        log.removeHandler(handler);
        assertEquals(1, warnings.size(), warnings.toString());
        assertTrue(warnings.get(0).contains("the request \"late:true\" that was settled"), warnings.get(0));
    }

    @Test
    void policiesRefundsAndResets() {
        BlockingLimiter other = server.limiter().blocking();
        Map<String, Limit> limits = new LinkedHashMap<>();
        limits.put("{}", Limit.perDay(3));
        limits.put("team:{team}", Limit.parse("FW 2 1h"));
        server.setPolicy("api", limits);
        Request request = Request.one().field("team", "ä");
        assertTrue(fake.check("api", "1", request).allowed() && other.check("api", "2", request).allowed());
        MultiResult denied = fake.check("api", "1", request);
        assertTrue(!denied.allowed() && denied.binding() == 1 && denied.limits().get(0).remaining() == 2);
        assertEquals(OptionalLong.of(2), fake.refund("team:ä", 5));
        assertEquals(OptionalLong.empty(), fake.refund("none", 5));
        assertTrue(fake.reset("1") && !fake.reset("1"));
        assertTrue(assertThrows(RefusedException.class, () -> fake.check("api", "1")).getMessage().contains("asks for the field 'team'"));
        assertThrows(RefusedException.class, () -> fake.check("none", "1"));
    }

    @Test
    void errors() {
        fake.allow("k", Limit.perDay(1));
        assertTrue(message(() -> fake.allow("k", Limit.window(1, "@day"))).contains("WRONGTYPE the key belongs to a limiter of TB"));
        assertTrue(message(() -> fake.allow("k", Limit.perDay(1).member("a"))).contains("the fake server has no FS.ACQUIRE"));
        assertEquals(List.of(5L, -1L, 0L, List.of(List.of(3L, 2L, 30_000L))), server.execute("RL.ALL", "CC", "places", "3", "30s", "h1", "TOKENS", "5"));
        assertTrue(message(() -> server.execute("RL.ALL", "TB", "a", "1", "1/s", "AS", "id", "FOR", "1m", "PEEK")).contains("PEEK: cannot be combined with AS"));
        assertTrue(message(() -> server.execute("RL.ALL", "TB", "a", "1", "1/s", "BLOCK", "1s")).contains("the fake server has no BLOCK in RL.ALL"));
        assertTrue(message(() -> fake.all(List.of(Keyed.of("a", Limit.perSecond(1)), Keyed.of("a", Limit.perSecond(1))), Request.one())).contains("same key twice"));
        assertTrue(message(() -> server.execute("RL.SETTLE")).contains("wrong number of arguments"));
        assertThrows(InvalidException.class, () -> server.clock().advance(Duration.ofMillis(-1)));
    }

    private static String message(Executable call) {
        return assertThrows(RefusedException.class, call).getMessage();
    }

    @Test
    void serverIsDown() {
        BlockingLimiter share = server.limiter(Policy.localShare(0.5)).build().blocking();
        server.setDown(true);
        for (int i = 0; i < 7; i++) {
            assertEquals(i < 5, share.allow("k", Limit.perMinute(10)).allowed());
        }
        server.clock().advance(Duration.ofMillis(share.allow("k", Limit.perMinute(10)).retryAfterMs()));
        assertEquals(Source.LOCAL, share.allow("k", Limit.perMinute(10)).source());
        server.setDown(false);
        assertEquals(Source.SERVER, share.allow("k", Limit.perMinute(10)).source());
    }

    @Test
    void realServer() {
        try (StintServer real = StintServer.start(Path.of(System.getenv("SERVER_BINARY")), "--max-memory", "100mb")) {
            assertTrue(real.url().endsWith(":" + real.port()));
        }
        String missing = assertThrows(StintException.class, () -> StintServer.start(Path.of("/nowhere/stint"))).getMessage();
        assertTrue(missing.startsWith("there is no server to start: ") && missing.contains("set STINTTEST_BINARY to its path"), missing);
        String ended = assertThrows(StintException.class, () -> StintServer.start(Path.of("/bin/false"))).getMessage();
        assertEquals("/bin/false ended:\n", ended);
    }
}
