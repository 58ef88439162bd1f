package com.stintdb.client;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Path;

/** The files in clients/vectors. */
final class Vectors {
    private Vectors() {}

    static JsonNode read(String name) {
        try {
            return new ObjectMapper().readTree(Path.of(System.getProperty("repository"), "clients/vectors", name).toFile());
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }
}
