package com.stintdb.client;

import io.lettuce.core.RedisClient;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.output.NestedMultiOutput;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.ProtocolKeyword;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;

/** Sends commands that a limiter has no method for, by plain Lettuce. */
final class Admin implements AutoCloseable {
    private final RedisClient client;

    Admin(RealServer server) {
        client = RedisClient.create(server.url());
    }

    List<Object> run(String name, String... words) {
        ProtocolKeyword keyword = () -> name.getBytes(StandardCharsets.US_ASCII);
        CommandArgs<String, String> arguments = new CommandArgs<>(StringCodec.UTF8).addKeys(List.of());
        Arrays.stream(words).forEach(arguments::add);
        try (var connection = client.connect()) {
            return connection.sync().dispatch(keyword, new NestedMultiOutput<>(StringCodec.UTF8), arguments);
        }
    }

    @Override
    public void close() {
        client.shutdown(Duration.ZERO, Duration.ofSeconds(5));
    }
}
