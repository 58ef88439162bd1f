package com.stintdb.test;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.stintdb.client.RefusedException;
import com.stintdb.client.internal.Rates;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** Random requests at times of a clock, with the server's replies to the millisecond. */
class DecisionsTest {
    @Test
    void decisionsAreThoseOfTheServer() throws Exception {
        FakeServer server = new FakeServer(new FakeClock(Instant.parse("2026-01-02T03:04:05Z")));
        String reply = "";
        int played = 0;
        for (String line : Files.readAllLines(Path.of(System.getProperty("repository"), "clients/vectors/decisions.txt"))) {
            String[] words = line.split(" ");
            if (line.startsWith("> ")) {
                reply = replyOf(server, Arrays.copyOfRange(words, 1, words.length));
                played++;
            } else if (line.startsWith("advance ")) {
                server.clock().advance(Duration.ofNanos(Rates.duration(words[1]).longValue()));
            } else if (!line.startsWith("#")) {
                assertEquals(line, reply, "request " + played);
            }
        }
        assertEquals(1800, played);
    }

    private static String replyOf(FakeServer server, String[] words) {
        try {
            return shown(server.execute(words));
        } catch (RefusedException e) {
            return "-" + e.getMessage();
        }
    }

    /** A reply as transcripts have it. */
    private static String shown(Object reply) {
        if (reply instanceof List<?> list) {
            return list.stream().map(DecisionsTest::shown).collect(Collectors.joining(" ", "[", "]"));
        }
        return reply == null ? "nil" : reply instanceof String text ? '"' + text + '"' : reply.toString();
    }
}
