package com.stintdb.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.stintdb.client.UnavailableException.Reason;
import java.time.Duration;
import java.util.Arrays;
import java.util.Locale;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/** The outages of a real server that the clients in all languages are tested with. */
class OutagesTest {
    private static final JsonNode OUTAGES = Vectors.read("outages.json");
    private static final Limit LIMIT = Limit.parse("FW 1000000 1d");
    private static final Duration LONG = Duration.ofSeconds(30);

    private interface Act {
        void run() throws Exception;
    }

    @TestFactory
    Stream<DynamicTest> outages() {
        return StreamSupport.stream(((Iterable<String>) () -> OUTAGES.get("outages").fieldNames()).spliterator(), false)
                .map(outage -> DynamicTest.dynamicTest(outage, () -> play(outage)));
    }

    private static void play(String outage) throws Exception {
        try (RealServer server = new RealServer();
                Proxy proxy = new Proxy(server);
                Limiter limiter = Limiter.builder(Policy.failOpen(), proxy.url()).timeout(Duration.ofMillis(OUTAGES.get("timeout_ms").asLong())).build()) {
            boolean mayClose = outage.equals("slow"); // it answers a probe in the end
            awaitServer(limiter);
            act(outage, server, proxy, true).run();
            Calls calls = callsInOutage(limiter, mayClose);
            Pause.of(OUTAGES.get("lasts_ms").asLong()); // probes fail
            assertTrue(limiter.isOpen() || mayClose, "the breaker has closed");
            act(outage, server, proxy, false).run();
            long begun = System.nanoTime();
            awaitServer(limiter);
            double back = (System.nanoTime() - begun) / 1e6;
            JsonNode toReach = OUTAGES.get("to_reach_ms");
            double[] next = Arrays.stream(calls.times, 1, calls.times.length).sorted().toArray();
            System.out.println(String.format(
                    Locale.ROOT, "%s, Lettuce: first %.3f of %s ms, next_p99 %.3f of %s ms, back %.3f of %s ms", outage, calls.times[0], toReach.get("first"),
                    next[(int) (next.length * 0.99) - 1], toReach.get("next_p99"), back, toReach.get("back")));
            assertTrue(takenInOutage(server) <= calls.asked, "calls that did not ask have taken tokens");
        }
    }

    /** Begins an outage, or ends it. */
    private static Act act(String outage, RealServer server, Proxy proxy, boolean fails) {
        return switch (outage) {
            case "killed" -> fails ? server::kill : server::start;
            case "stopped" -> fails ? server::stop : () -> server.signal("CONT");
            case "slow" -> () -> proxy.between = fails ? 15 : 0;
            case "refusing" -> () -> proxy.refuse(fails);
            case "lost" -> () -> proxy.loses = fails;
            default -> throw new IllegalArgumentException("unknown outage " + outage);
        };
    }

    /** Waits until the source of results is the server. */
    private static void awaitServer(Limiter limiter) {
        while (limiter.blocking().allow("outage", Limit.perSecond(1_000_000)).source() != Source.SERVER) {
            Pause.of(5);
        }
    }

    private record Calls(double[] times, int asked) {}

    /**
     * Makes calls one after the other: all are decided by the fallback, the first few after they asked in vain. Once the breaker is open, none asks, unless
     * it may close.
     */
    private static Calls callsInOutage(Limiter limiter, boolean mayClose) {
        int calls = OUTAGES.get("calls").asInt();
        double[] times = new double[calls + 1];
        int asked = 0;
        boolean wasOpen = false;
        for (int i = 0; i <= calls; i++) {
            long begun = System.nanoTime();
            Result result = limiter.blocking().allow("in the outage", LIMIT);
            times[i] = (System.nanoTime() - begun) / 1e6;
            assertTrue(result.allowed() && result.source() == Source.FALLBACK && result.cause() instanceof UnavailableException, "call " + i + ": " + result);
            boolean isOpen = ((UnavailableException) result.cause()).reason() == Reason.CIRCUIT_OPEN;
            assertTrue(isOpen ? i > 0 : mayClose || !wasOpen, "call " + i + ": " + result);
            wasOpen = isOpen;
            asked += isOpen ? 0 : 1;
        }
        assertTrue(asked < calls && (mayClose || asked <= calls / 10), asked + " of " + times.length + " calls asked");
        return new Calls(times, asked);
    }

    /** The tokens that calls in an outage have taken. */
    private static long takenInOutage(RealServer server) {
        try (Limiter limiter = Limiter.builder(Policy.failClosed(), server.url()).timeout(LONG).connectTimeout(LONG).build()) {
            Result result = limiter.blocking().peek("in the outage", LIMIT, 1);
            assertEquals(Source.SERVER, result.source());
            return 1_000_000 - 1 - result.remaining();
        }
    }
}
