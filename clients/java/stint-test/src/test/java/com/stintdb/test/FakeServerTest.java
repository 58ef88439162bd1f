package com.stintdb.test;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.stintdb.client.BlockingLimiter;
import com.stintdb.client.DeniedException;
import com.stintdb.client.InvalidException;
import com.stintdb.client.Keyed;
import com.stintdb.client.Limit;
import com.stintdb.client.LimitState;
import com.stintdb.client.MultiResult;
import com.stintdb.client.Policy;
import com.stintdb.client.RefusedException;
import com.stintdb.client.Request;
import com.stintdb.client.Source;
import com.stintdb.client.StintException;
import com.stintdb.client.web.Guard;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
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
                Arguments.of(Limit.window(3, Duration.ofSeconds(5)), 5000),
                Arguments.of(Limit.window(3, "@minute"), 59_600),
                Arguments.of(Limit.window(3, "@day"), day - 400),
                Arguments.of(Limit.window(3, "@week"), 2 * day - 400),
                Arguments.of(Limit.window(3, "@month"), 31 * day - 400),
                Arguments.of(Limit.window(3, "@quarter"), 91 * day - 400),
                Arguments.of(Limit.window(3, "@year"), 366 * day - 400),
                Arguments.of(Limit.window(3, "@15m"), 899_600),
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
        fake.await("bucket", Limit.perMinute(2), 2, Duration.ofHours(1));
        DeniedException denied = assertThrows(DeniedException.class, () -> fake.await("bucket", Limit.perMinute(2), 1, Duration.ofSeconds(15)));
        assertTrue(denied.getMessage().contains("there are 15000 ms"), denied.getMessage());
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

    /** What a plan cannot give comes from credits, and a denial says what would help. */
    @Test
    void planWithCredits() {
        List<Keyed> plan = List.of(Keyed.of("hours", Limit.parse("FW 100 5h")), Keyed.of("credits", Limit.balance()).orElse());
        for (int i = 0; i < 2; i++) { // as webhooks do
            assertEquals(50, fake.addCredits("credits", 50, "payment:81"));
        }
        MultiResult granted = fake.all(plan, Request.of(130).split());
        assertEquals(List.of(100L, 30L), granted.limits().stream().map(LimitState::granted).toList());
        MultiResult denied = fake.all(plan, Request.of(30));
        assertTrue(!denied.allowed() && !denied.needsPayment() && denied.retryAfterMs() == 18_000_000, denied.toString());
        assertTrue(fake.all(plan, Request.of(130)).needsPayment());
    }

    @Test
    void errors() {
        fake.allow("k", Limit.perDay(1));
        assertTrue(message(() -> fake.allow("k", Limit.window(1, "@day"))).contains("WRONGTYPE the key belongs to a limiter of TB"));
        assertEquals(List.of(5L, -1L, 0L, List.of(List.of(3L, 2L, 30_000L))), server.execute("RL.ALL", "CC", "places", "3", "30s", "h1", "TOKENS", "5"));
        assertTrue(message(() -> fake.all(List.of(Keyed.of("a", Limit.perSecond(1)), Keyed.of("a", Limit.perSecond(1))), Request.one())).contains("same key twice"));
        assertTrue(message(() -> server.execute("RL.REFUND")).contains("wrong number of arguments"));
        assertThrows(InvalidException.class, () -> server.clock().advance(Duration.ofMillis(-1)));
    }

    @ParameterizedTest
    @CsvSource({
        "RL.TOP, RL.TOP", "RL.USAGE k, RL.USAGE", "AD.ACQUIRE k 20 2/1s 50/1s 1, AD.ACQUIRE", "RL.SETTLE a 1, RL.SETTLE",
        "RL.ALL TB a 1 1/s AS id FOR 1m, AS in RL.ALL", "RL.ALL TB a 1 1/s BLOCK 1s, BLOCK in RL.ALL", "RL.ALL SL a 1 1s, SL in RL.ALL",
        "RL.ALL PENALTY a 3 1m 10m, PENALTY in RL.ALL", "SW.ACQUIRE a 1 1s 1, SW without SEGMENTS", "BAL.ADD a 1 AS b EXPIRE 2000000000, EXPIRE in BAL.ADD",
        "RL.ALL FW k 10 @week HISTORY 3, HISTORY in RL.ALL", "RL.CHECK p a 1 KEEP 5, KEEP in RL.CHECK", "FW.ACQUIRE k 9 @month 1 TZ UTC, TZ in FW.ACQUIRE",
        "RL.CHECK warns a 1, limit FW 9 @day WARN 80%"})
    void whatItLacks(String command, String what) {
        server.setPolicy("warns", Map.of("{}", Limit.parse("FW 9 @day WARN 80%")));
        String says = message(() -> server.execute(command.split(" ")));
        assertTrue(says.contains("the fake server has no " + what + ": it knows token buckets"), says);
        assertTrue(says.endsWith("run this test on a real server, with StintServer.start"), says);
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
