package com.stintdb.client.web;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.stintdb.client.InvalidException;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** The vectors of fields, which the server and the clients in all languages play. */
class FieldsTest {
    private static final ObjectMapper JSON = new ObjectMapper();

    @Test
    void vectors() throws IOException {
        JsonNode file = JSON.readTree(Path.of(System.getProperty("repository"), "clients/vectors/fields.json").toFile());
        for (JsonNode v : file.get("cases")) {
            JsonNode l = v.get("limit");
            Fields.Shown limit = new Fields.Shown(l.get("name").asText(), l.get("quota").asLong(), l.get("remaining").asLong(), time(l, "window_ms"), time(l, "more_ms"), time(l, "reset_ms"), l.path("warns").asBoolean());
            Map<String, String> want = JSON.convertValue(v.get("fields"), new TypeReference<Map<String, String>>() {});
            assertEquals(want, Fields.write(styles(v.get("styles").asText()), limit, v.get("now_ms").asLong()), v.get("name").asText());
        }
        for (JsonNode text : file.get("refused")) {
            assertThrows(InvalidException.class, () -> styles(text.asText()), text.asText());
        }
    }

    private static OptionalLong time(JsonNode limit, String name) {
        long ms = limit.get(name).asLong();
        return ms < 0 ? OptionalLong.empty() : OptionalLong.of(ms);
    }

    private static Set<FieldStyle> styles(String text) {
        List<String> words = text.equals("none") ? List.of() : Arrays.asList(text.split(",", -1));
        return FieldStyle.set(words.stream().map(FieldStyle::of).toList());
    }
}
