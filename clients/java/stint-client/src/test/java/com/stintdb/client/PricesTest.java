package com.stintdb.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Costs by prices: those of all clients. */
class PricesTest {
    private static final ObjectMapper JSON = new ObjectMapper();

    @Test
    void vectors() {
        JsonNode vectors = Vectors.read("prices.json");
        Prices prices = Prices.of(JSON.convertValue(vectors.get("prices"), new TypeReference<>() {}));
        vectors.get("costs").forEach(each -> assertEquals(each.get("cost").asLong(), cost(prices, each), each.toString()));
        vectors.get("refused").forEach(each -> assertThrows(InvalidException.class, () -> cost(prices, each), each.toString()));
        vectors.get("refused_prices").forEach(text ->
                assertThrows(InvalidException.class, () -> Prices.of(Map.of("model", Map.of("kind", text.asText()))), text::asText));
        assertTrue(vectors.get("costs").size() >= 10 && vectors.get("refused_prices").size() >= 10);
    }

    private static long cost(Prices prices, JsonNode request) {
        return prices.cost(request.get("model").asText(), JSON.convertValue(request.get("usage"), new TypeReference<Map<String, Long>>() {}));
    }
}
