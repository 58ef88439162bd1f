package com.stintdb.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.stintdb.client.internal.Rates;
import com.stintdb.client.internal.Rates.Quotient;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** Limits, rates and durations as text: those of all clients. */
class LimitTest {
    @Test
    void limits() {
        JsonNode texts = Vectors.read("limits.json");
        texts.get("limits").properties().forEach(each -> assertEquals(each.getValue().asText(), Limit.parse(each.getKey()).toString(), each.getKey()));
        texts.get("refused").forEach(text -> assertThrows(InvalidException.class, () -> Limit.parse(text.asText()), text::asText));
    }

    @Test
    void numbersAsProgramsPrintThem() {
        JsonNode numbers = Vectors.read("numbers.json");
        numbers.get("rates").properties().forEach(each -> {
            Rates.Rate read = Rates.rate(each.getKey());
            Rates.Rate written = Rates.rate(each.getValue().asText());
            assertTrue(equal(read.tokens(), written.tokens()) && equal(read.period(), written.period()), each.getKey());
            double count = Double.parseDouble(each.getValue().asText().split("[/ ]")[0]);
            assertEquals(1, read.tokens().value() / count, 1e-15, each.getKey());
        });
        numbers.get("durations").properties().forEach(each -> assertEquals(Rates.duration(each.getValue().asText()), Rates.duration(each.getKey()), each.getKey()));
        refused(numbers.get("rates_beyond"), Rates::rate, "above 0 and at most");
        refused(numbers.get("not_rates"), Rates::rate, "a rate must be such as");
        refused(numbers.get("not_durations"), Rates::duration, "a duration must be between");
        assertEquals(1, Rates.rate("0." + "0".repeat(400) + "1e401").tokens().value());
        assertEquals(1, Rates.rate("1." + "0".repeat(900)).tokens().value());
    }

    /** A limit is the same, in whatever order its options were given. */
    @Test
    void options() {
        for (String unknown : List.of("Berlin", "Europe/Berlim", "")) {
            InvalidException refused = assertThrows(InvalidException.class, () -> Limit.window(5, "@month", unknown, "17"));
            assertTrue(refused.getMessage().startsWith("zone: must be a time zone that this Java knows, such as Europe/Berlin, got "), refused.getMessage());
        }
        for (String known : List.of("UTC", "EST", "europe/berlin", "America/Argentina/Buenos_Aires")) {
            assertTrue(Limit.window(5, "@month", known, "17").toString().contains(known));
        }
        Limit limit = Limit.window(5, "@month", "Europe/Berlin", "17").history(12).warn(80);
        assertEquals("FW 5 @month TZ Europe/Berlin FROM 17 HISTORY 12 WARN 80%", limit.toString());
        assertEquals(limit, Limit.window(5, "@month", "Europe/Berlin", "17").warn(80).history(12));
        assertEquals(limit, Limit.parse("fw 5 @month history 12 from 17 tz Europe/Berlin warn 80%"));
    }

    private static boolean equal(Quotient a, Quotient b) {
        return a.numerator().multiply(b.denominator()).equals(b.numerator().multiply(a.denominator()));
    }

    private static void refused(JsonNode texts, Consumer<String> read, String message) {
        texts.forEach(text -> {
            InvalidException error = assertThrows(InvalidException.class, () -> read.accept(text.asText()), text::asText);
            assertTrue(error.getMessage().contains(message), error.getMessage());
        });
    }

    @Test
    void badInputIsNamedWithTheRemedy() {
        message("tokens: must be an integer between 1 and 1000000000000, got 0", () -> Limit.perSecond(0));
        message("window: must be such as \"@day\" or \"@15m\", or a Duration, got \"day\"", () -> Limit.window(1, "day"));
        message("period: must be whole milliseconds from 1 ms to 10 years, such as Duration.ofSeconds(30), got PT0.0000005S", () -> Limit.per(1, Duration.ofNanos(500)));
        message("queue: is for token buckets, not for FW.ACQUIRE", () -> Limit.window(1, "@day").queue(3));
        message("keep: must be a percentage such as \"10%\", got \"110%\"", () -> Keep.percent("110%"));
        message("localShare: must be above 0 and at most 1, got 2.0", () -> Policy.localShare(2));
        message("weight: must be an integer between 1 and 1000, got 1001", () -> Limit.perSecond(1).member("a", 1001));
        message("warn: must be a percentage between 1 and 100, got 0", () -> Limit.perSecond(1).warn(0));
        message("warn: is not for limits of CL.THROTTLE", () -> Limit.gcra(3, 1, 1000).warn(80));
        message("history: must be an integer between 1 and 36, got 37", () -> Limit.parse("FW 10 1h HISTORY 37"));
        message("history: is for fixed windows, not for SW.ACQUIRE", () -> Limit.slidingWindow(1, Duration.ofHours(1)).history(3));
        message("a request has keep or maxWait, not both", () -> Request.one().keep(Keep.tokens(1)).maxWait(Duration.ofSeconds(1)));
        assertEquals("key: must not be null: name the caller, such as the user or the address",
                assertThrows(NullPointerException.class, () -> Key.of((String) null)).getMessage());
        try (Limiter limiter = Limiter.builder(Policy.failOpen(), new FakeDriver(words -> new CompletableFuture<>())).build()) {
            message("limits: all takes at most 64 at once, got 65", () -> limiter.blocking().all(Collections.nCopies(65, Keyed.of("a", Limit.perSecond(1))), Request.one()));
        }
        assertTrue(assertThrows(InvalidException.class, () -> Limiter.connect("localhost:6379", Policy.failOpen())).getMessage()
                .startsWith("address: must be such as redis://127.0.0.1:6379, got \"localhost:6379\""));
    }

    private static void message(String want, Executable call) {
        assertEquals(want, assertThrows(InvalidException.class, call).getMessage());
    }
}
