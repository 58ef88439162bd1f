package com.stintdb.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
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
        Limit limit = Limit.gcra(2, 1, 86_400);
        assertEquals(new Result(true, 1, 3, 2, 0, 0, 86_400_000, Source.SERVER, null), limiter.blocking().allow("cell", limit));
        assertTrue(limiter.blocking().allow("cell", limit, 2).allowed());
        Result denied = limiter.blocking().allow("cell", limit);
        assertFalse(denied.allowed());
        assertTrue(denied.retryAfterMs() > 86_000_000 && denied.retryAfterMs() <= 86_400_000, denied::toString); // some of it has passed
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

    @Test
    void everyKindOfCall() {
        BlockingLimiter calls = limiter.blocking();
        assertEquals(1, calls.allow("a", Limit.perHour(2)).remaining());
        assertTrue(calls.allow("a", Limit.perHour(2)).allowed());
        Result denied = calls.allow("a", Limit.perHour(2));
        assertTrue(!denied.allowed() && denied.retryAfterMs() > 0 && denied.source() == Source.SERVER);
        assertEquals(-1, calls.force("a", Limit.perHour(2), 1).remaining());
        assertEquals(OptionalLong.of(0), calls.refund("a", 1));
        assertTrue(calls.reset("a"));
        assertEquals(OptionalLong.empty(), calls.refund("none", 1));
        assertEquals(3, calls.allowAtMost("b", Limit.window(3, "@day"), 5).granted());
        assertEquals(2, calls.peek("c", Limit.slidingWindow(3, Duration.ofMinutes(1)), 1).remaining());
        assertEquals(2, calls.allow("d", Limit.slidingLog(3, Duration.ofMinutes(1))).remaining());
        assertTrue(calls.allow("f", Limit.perHour(1).queue(1)).allowed());
        assertEquals(Source.SERVER, calls.allow(Key.of(new byte[] {0, -1, 13, 10}), Limit.perHour(1), 1).source());
        assertEquals(Source.SERVER, calls.allow("x".repeat(5000), Limit.perHour(5)).source());
        assertTrue(calls.allow("pool", Limit.perHour(10).member("acme", 3)).allowed());
        assertEquals(List.of(new Member("acme", 3, 1)), calls.members("pool"));
        assertTrue(calls.allow("backend", Limit.perSecond(100).adaptive(5)).allowed());
        assertEquals(100, calls.report("backend", Report.of(1, 0)).perSecond());
        Limit place = Limit.concurrency(1, Duration.ofHours(1), "job-7");
        assertTrue(calls.allow("jobs", place).allowed());
        assertFalse(calls.allow("jobs", Limit.concurrency(1, Duration.ofHours(1), "job-8")).allowed());
        assertTrue(calls.release("jobs", "job-7"));
        assertFalse(calls.release("jobs", "job-7"));
        TreeClass tree = TreeClass.of("team", Limit.perHour(1), Limit.perHour(2), Keyed.of("plan", Limit.perHour(3)));
        assertEquals(2, calls.allowClass(tree, 2).granted());
        assertFalse(calls.peekClass(tree, 1).allowed());
        assertThrows(RefusedException.class, () -> calls.check("unknown", "u"));
        assertTrue(assertThrows(RefusedException.class, () -> calls.allow("b", Limit.perHour(1))).getMessage().startsWith("WRONGTYPE "));
    }

    @Test
    void warnings() throws Exception {
        BlockingLimiter calls = limiter.blocking();
        for (Limit limit : List.of(
                Limit.perHour(5).warn(80), Limit.perHour(1).warn(80).burst(5), Limit.window(5, "@year").warn(80),
                Limit.slidingWindow(5, Duration.ofDays(3650)).warn(80), Limit.parse("LB 5 1/h WARN 80%"))) {
            String key = "warn:" + limit;
            assertEquals(List.of(false, true), List.of(calls.allow(key, limit, 3).warn(), calls.allow(key, limit).warn()), key);
            assertTrue(calls.peek(key, limit, 5).warn());
            assertTrue(calls.all(List.of(Keyed.of("other", Limit.perHour(100)), Keyed.of(key, limit)), Request.one()).tightest().warn());
        }
        try (Admin admin = new Admin(server)) {
            admin.run("RL.POLICY", "SET", "warns", "FW", "warns:{}", "2", "1d", "WARN", "50%", "FW", "calm:{}", "9", "1d");
        }
        List<LimitState> states = calls.check("warns", "7", Request.one().showWarn()).limits();
        assertEquals(List.of(true, false), states.stream().map(LimitState::warn).toList());
        assertFalse(calls.check("warns", "7", Request.one().peek()).limits().get(0).warn());
        assertTrue(calls.check("warns", "7", Request.one().peek().showWarn()).limits().get(0).warn());
        try (Leases leases = limiter.lease()) {
            Limit limit = Limit.perHour(1000).warn(80);
            assertTrue(leases.allow("leased", limit).toCompletableFuture().join().allowed());
        }
    }

    @Test
    void usage() {
        BlockingLimiter calls = limiter.blocking();
        Limit limit = Limit.window(100, "@year").history(3);
        assertTrue(calls.allow("spend", limit, 30).allowed());
        assertTrue(calls.all(List.of(Keyed.of("spend", limit)), Request.of(20).id("call:spend", Duration.ofMinutes(10))).allowed());
        Usage usage = calls.usage("spend");
        assertEquals(new Usage(null, 100, 30, 20, 0, 50, usage.start(), usage.end(), List.of()), usage);
        assertTrue(usage.start().isBefore(usage.end()));
        assertTrue(calls.allow("bucket", Limit.perHour(5), 2).allowed());
        assertNull(calls.usage("bucket").start());
        assertNull(calls.usage("nothing"));
        assertTrue(calls.check("api", "spender", Request.of(2).field("team", "blue")).allowed());
        List<Usage> all = calls.policyUsage("api", "spender", Map.of("team", "blue"));
        assertEquals(List.of("user:spender", "team:blue"), all.stream().map(Usage::key).toList());
        assertEquals(List.of(1L, 0L), all.stream().map(Usage::remaining).toList());
    }

    @Test
    void severalLimitsReservedAndSettled() {
        BlockingLimiter calls = limiter.blocking();
        List<Keyed> limits = List.of(Keyed.of("g", Limit.perHour(10)).cost(4), Keyed.of("h", Limit.perHour(8)));
        Request request = Request.of(5).id("call:1", Duration.ofMinutes(10));
        for (int again = 0; again < 2; again++) { // the second time, nothing is taken
            MultiResult result = calls.all(limits, request);
            assertEquals(List.of(6L, 3L), result.limits().stream().map(LimitState::remaining).toList());
        }
        assertEquals(List.of(4L, 2L), calls.settle("call:1", 2).stream().map(Charge::charged).toList());
        assertNull(calls.cancel("unknown"));
        for (boolean isSettled : new boolean[] {true, false}) {
            Reserved reserved = calls.reserving(limits, Request.of(5).id("call:" + isSettled, Duration.ofMinutes(10)));
            try (reserved) {
                assertTrue(reserved.allowed());
                if (isSettled) {
                    reserved.settle(1);
                }
            }
            assertEquals(isSettled ? List.of(4L, 1L) : List.of(0L, 0L), reserved.charges().stream().map(Charge::charged).toList());
            assertNull(reserved.error());
            calls.reset("g");
        }
        assertEquals("id", assertThrows(InvalidException.class, () -> calls.reserving(limits, Request.one())).getMessage().split(":")[0]);
        assertTrue(assertThrows(RefusedException.class, () -> calls.settle("call:1", 3)).getMessage().contains("settled or canceled with other amounts"));
        assertThrows(RefusedException.class, () -> calls.all(limits, Request.of(6).id("call:1", Duration.ofMinutes(10))));
    }

    @Test
    void limitsOfAnotherService() {
        for (String text : List.of("TB 100 1/h", "LB 100 1/h", "FW 100 @year WARN 50%", "SW 100 10d", "SL 100 10d", "CL 99 1 3600")) {
            Limit limit = Limit.parse(text);
            Result lowered = limiter.blocking().atMost("service:" + text, limit, 40);
            assertEquals(List.of(60L, 100L, 40L), List.of(lowered.granted(), lowered.limit(), lowered.remaining()), text);
            assertEquals(text.contains("WARN"), lowered.warn());
            assertEquals(0, limiter.blocking().atMost("service:" + text, limit, 50).granted());
            assertEquals(39, limiter.blocking().allow("service:" + text, limit).remaining());
        }
    }

    /** It is docs/recipes/credits.md. */
    @Test
    void planWithCredits() {
        BlockingLimiter calls = limiter.blocking();
        Instant later = Instant.ofEpochSecond(Instant.now().getEpochSecond() + 3600);
        assertNull(calls.credits("credits"));
        for (int again = 0; again < 2; again++) { // the second webhook of a payment
            assertEquals(1000, calls.addCredits("credits", 1000, "payment:81"));
        }
        assertEquals(1050, calls.addCredits("credits", 50, "gift:1", later));
        List<Keyed> plan = List.of(Keyed.of("hours", Limit.window(100, Duration.ofHours(1))), Keyed.of("credits", Limit.balance()).orElse());
        MultiResult result = calls.all(plan, Request.of(130).id("plan:1", Duration.ofMinutes(10)).split());
        assertEquals(List.of(100L, 30L), result.limits().stream().map(LimitState::granted).toList());
        MultiResult extended = calls.extend("plan:1", Extension.of(1, 10).split());
        assertEquals(List.of(100L, 40L), extended.limits().stream().map(LimitState::granted).toList());
        assertEquals(List.of(100L, 20L), calls.settle("plan:1", 120).stream().map(Charge::charged).toList());
        assertEquals(
                new Credits(1030, List.of(new Credits.Grant(30, later), new Credits.Grant(1000, null))), calls.credits("credits"));
        MultiResult wait = calls.all(plan, Request.of(1100));
        assertFalse(wait.allowed() || wait.needsPayment() || wait.retryAfterMs() <= 0);
        MultiResult payment = calls.all(plan, Request.of(1200));
        assertTrue(!payment.allowed() && payment.needsPayment() && payment.tightest().needsPayment());
        assertEquals(Result.NEVER, payment.retryAfterMs());
        assertThrows(DeniedException.class, () -> calls.await("credits", Limit.parse("BAL"), 1031, Duration.ofHours(1)));
    }

    @Test
    void optionsOfLimits() {
        try (Leases leases = limiter.lease()) {
            for (Limit limit : List.of(
                    Limit.slidingWindow(100, Duration.ofHours(5)).segments(20), Limit.window(100, "@month").rollover(50).warn(80),
                    Limit.perHour(100).spread(), Limit.perHour(100).queue(10).spread(), Limit.window(100, "@day").spread())) {
                String key = "options:" + limit;
                assertTrue(limiter.blocking().allow(key, limit).allowed());
                assertTrue(limiter.blocking().all(List.of(Keyed.of(key, limit)), Request.one()).allowed());
                assertTrue(leases.allow(key, limit).toCompletableFuture().join().allowed());
                if (limit.corrects()) {
                    assertEquals(40, limiter.blocking().atMost(key, limit, 40).remaining());
                } else {
                    assertThrows(InvalidException.class, () -> limiter.blocking().atMost(key, limit, 40));
                }
            }
        }
        Limit sliding = Limit.slidingWindow(5, Duration.ofHours(1));
        assertThrows(InvalidException.class, () -> sliding.segments(1));
        assertThrows(InvalidException.class, sliding::spread);
        assertThrows(InvalidException.class, () -> Limit.window(5, Duration.ofHours(1)).rollover(50));
        assertThrows(InvalidException.class, () -> Limit.window(5, "@day").rollover(101));
        assertThrows(InvalidException.class, () -> Keyed.of("k", sliding).orElse());
    }

    @Test
    void streamsOfOneBudget() {
        Limit budget = Limit.window(50_000, Duration.ofDays(10));
        List<CompletableFuture<Long>> streams = new ArrayList<>();
        for (int i = 0; i < 100; i++) {
            streams.add(limiter.streaming(List.of(Keyed.of("budget", budget)), StreamOptions.usual().prompt(20))
                    .toCompletableFuture()
                    .thenCompose(stream -> chunks(stream, 400).handle((done, error) -> stream.end().toCompletableFuture()).thenCompose(end -> end)
                            .thenApply(done -> stream.used()))
                    .exceptionally(spent -> {
                        assertInstanceOf(BudgetSpentException.class, spent.getCause());
                        return 0L;
                    }));
        }
        long used = streams.stream().mapToLong(CompletableFuture::join).sum();
        Usage usage = limiter.blocking().usage("budget");
        assertEquals(List.of(used, 50_000 - used), List.of(usage.used(), usage.remaining()));
        assertTrue(used <= 50_000 && used >= 47_500, () -> used + " of 50000");
        assertNull(limiter.blocking().extend("absent", Extension.of(1, 5)));
    }

    private static CompletableFuture<?> chunks(BudgetStream stream, int left) {
        return left == 0 ? CompletableFuture.completedFuture(null)
                : stream.adding(3).toCompletableFuture().thenCompose(done -> chunks(stream, left - 1));
    }

    @Test
    void settlementsThatComeTooLate() {
        BlockingLimiter calls = limiter.blocking();
        calls.settle("earlier", 3); // as another test may
        Reserved.forgetLate();
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
            Reserved reserved = calls.reserving(List.of(Keyed.of("late", Limit.perDay(100))), Request.of(8).id("late:" + isSettled, Duration.ofMillis(1)));
            Pause.of(50);
            try (reserved) {
                if (isSettled) {
                    reserved.settle(3);
                }
            }
            assertNull(reserved.charges());
            assertTrue(reserved.error().getMessage().contains("all that was reserved stays taken"), reserved.error().getMessage());
        }
        log.removeHandler(handler);
        assertEquals(1, warnings.size(), warnings.toString());
        assertTrue(warnings.get(0).contains("the request \"late:true\" that was settled"), warnings.get(0));
    }

    @Test
    void awaiting() throws Exception {
        BlockingLimiter calls = limiter.blocking();
        Limit limit = Limit.perSecond(1000).burst(1);
        for (int i = 0; i < 50; i++) {
            assertTrue(calls.await("paced", limit, 1, Duration.ofMinutes(1)).allowed());
        }
        Limit slow = Limit.perHour(2).burst(1);
        assertTrue(calls.await("slow", slow, 1, Duration.ofMinutes(1)).allowed());
        assertThrows(DeniedException.class, () -> calls.await("slow", slow, 1, Duration.ofMinutes(1)));
        assertThrows(DeniedException.class, () -> calls.await("slow", slow, 2, Duration.ofMinutes(1)));
        CompletableFuture<Result> waiting = limiter.await("slow", slow, 1, Duration.ofHours(2));
        while (calls.peek("slow", slow, 1).retryAfterMs() <= Duration.ofMinutes(30).toMillis()) { // until it is reserved
            Pause.of(5);
        }
        waiting.cancel(false);
        while (calls.peek("slow", slow, 1).retryAfterMs() > Duration.ofMinutes(30).toMillis()) { // until it is given back
            Pause.of(5);
        }
        Limiter other = Limiter.builder(Policy.failClosed(), server.url()).timeout(Duration.ofSeconds(30)).connectTimeout(Duration.ofSeconds(30)).build();
        CompletableFuture<Result> closed = other.await("slow", slow, 1, Duration.ofHours(2));
        other.close();
        assertInstanceOf(ClosedException.class, assertThrows(CompletionException.class, closed::join).getCause());
        assertThrows(ClosedException.class, () -> other.blocking().allow("slow", slow));
    }
}
