import io.lettuce.core.ClientOptions;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisFuture;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.async.RedisAsyncCommands;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.output.ArrayOutput;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.ProtocolKeyword;
import io.lettuce.core.protocol.ProtocolVersion;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletionException;

final class LettuceClient implements Client {
    private final RedisClient client;
    private final StatefulRedisConnection<String, String> connection;
    private final RedisCommands<String, String> sync;
    private final RedisAsyncCommands<String, String> async;

    LettuceClient(String host, int port, int protocol) {
        client = RedisClient.create(
                RedisURI.builder().withHost(host).withPort(port).withClientName(CLIENT_NAME).build());
        client.setOptions(ClientOptions.builder()
                .protocolVersion(protocol == 2 ? ProtocolVersion.RESP2 : ProtocolVersion.RESP3)
                .build());
        connection = client.connect();
        sync = connection.sync();
        async = connection.async();
    }

    @Override
    public String ping() {
        return sync.ping();
    }

    @Override
    public String info() {
        return sync.clientInfo();
    }

    @Override
    public Object send(String... command) {
        return sync.dispatch(name(command), new ArrayOutput<>(StringCodec.UTF8), arguments(command));
    }

    @Override
    public List<Object> pipeline(List<String[]> commands) {
        List<RedisFuture<List<Object>>> futures = new ArrayList<>();
        for (String[] command : commands) {
            futures.add(async.dispatch(name(command), new ArrayOutput<>(StringCodec.UTF8), arguments(command)));
        }
        List<Object> replies = new ArrayList<>();
        for (RedisFuture<List<Object>> future : futures) {
            try {
                replies.add(future.toCompletableFuture().join());
            } catch (CompletionException e) {
                replies.add(e.getCause());
            }
        }
        return replies;
    }

    @Override
    public List<Object> transaction(List<String[]> commands) {
        sync.multi();
        commands.forEach(this::send); // each is answered QUEUED
        return sync.exec().stream().toList();
    }

    @Override
    public long del(String key) {
        return sync.del(key);
    }

    @Override
    public State state(String key) {
        return new State(sync.exists(key) == 1, sync.type(key), sync.ttl(key), sync.pttl(key));
    }

    @Override
    public boolean isServerError(Object thrown) {
        return thrown instanceof RedisCommandExecutionException;
    }

    @Override
    public void close() {
        connection.close();
        client.shutdown(Duration.ZERO, Duration.ofSeconds(5));
    }

    /** The command as one that Lettuce has no method for. */
    private static ProtocolKeyword name(String[] command) {
        return () -> command[0].getBytes(StandardCharsets.US_ASCII);
    }

    private static CommandArgs<String, String> arguments(String[] command) {
        CommandArgs<String, String> arguments = new CommandArgs<>(StringCodec.UTF8).addKey(command[1]);
        for (int i = 2; i < command.length; i++) {
            arguments.add(command[i]);
        }
        return arguments;
    }
}
