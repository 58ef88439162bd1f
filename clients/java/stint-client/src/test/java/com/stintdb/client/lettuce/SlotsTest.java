package com.stintdb.client.lettuce;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.Test;

/** The slots of commands, as the vectors of all clients have them. */
class SlotsTest {
    @Test
    void vectors() throws Exception {
        JsonNode vectors = new ObjectMapper().readTree(Path.of(System.getProperty("repository"), "clients/vectors/slots.json").toFile());
        for (JsonNode each : vectors) {
            byte[][] words = StreamSupport.stream(each.get("words").spliterator(), false)
                    .map(word -> word.asText().getBytes(StandardCharsets.UTF_8))
                    .toArray(byte[][]::new);
            assertEquals(each.get("slot").asInt(-1), Leaders.slotOf(words), each.toString());
        }
    }
}
