import io.lettuce.core.ClientOptions;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.async.RedisAsyncCommands;
import io.lettuce.core.api.sync.RedisCommands;
import java.time.Duration;
import java.util.List;

final class LettuceClient extends LettuceCommands {
    private final RedisClient client;
    private final StatefulRedisConnection<String, String> connection;

    LettuceClient(String host, int port, int protocol) {
        client = RedisClient.create(
                RedisURI.builder().withHost(host).withPort(port).withClientName(CLIENT_NAME).build());
        client.setOptions(ClientOptions.builder().protocolVersion(version(protocol)).build());
        connection = client.connect();
    }

    @Override
    RedisCommands<String, String> sync() {
        return connection.sync();
    }

    @Override
    RedisAsyncCommands<String, String> async() {
        return connection.async();
    }

    @Override
    public List<Object> transaction(List<String[]> commands) {
        sync().multi();
        commands.forEach(this::send); // each is answered QUEUED
        return sync().exec().stream().toList();
    }

    @Override
    public void close() {
        connection.close();
        client.shutdown(Duration.ZERO, Duration.ofSeconds(5));
    }
}
