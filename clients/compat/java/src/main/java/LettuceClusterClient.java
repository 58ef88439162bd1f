import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisFuture;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.cluster.ClusterClientOptions;
import io.lettuce.core.cluster.RedisClusterClient;
import io.lettuce.core.cluster.SlotHash;
import io.lettuce.core.cluster.api.StatefulRedisClusterConnection;
import io.lettuce.core.cluster.api.sync.RedisAdvancedClusterCommands;
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

final class LettuceClusterClient implements Client {
    private final RedisClusterClient client;
    private final StatefulRedisClusterConnection<String, String> connection;
    private final RedisAdvancedClusterCommands<String, String> sync;

    LettuceClusterClient(List<RedisURI> nodes, int protocol) {
        nodes.forEach(node -> node.setClientName(CLIENT_NAME));
        client = RedisClusterClient.create(nodes);
        client.setOptions(ClusterClientOptions.builder()
                .protocolVersion(protocol == 2 ? ProtocolVersion.RESP2 : ProtocolVersion.RESP3)
                .build());
        connection = client.connect();
        sync = connection.sync();
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
            futures.add(connection.async().dispatch(name(command), new ArrayOutput<>(StringCodec.UTF8), arguments(command)));
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

    /** A transaction has one connection, to the node that has the keys' slot. */
    @Override
    public List<Object> transaction(List<String[]> commands) {
        int slot = SlotHash.getSlot(commands.get(0)[1]);
        RedisCommands<String, String> node =
                connection.getConnection(connection.getPartitions().getPartitionBySlot(slot).getNodeId()).sync();
        node.multi();
        for (String[] command : commands) { // each is answered QUEUED
            node.dispatch(name(command), new ArrayOutput<>(StringCodec.UTF8), arguments(command));
        }
        return node.exec().stream().toList();
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
