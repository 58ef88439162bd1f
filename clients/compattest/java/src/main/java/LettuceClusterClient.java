import io.lettuce.core.RedisURI;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.cluster.ClusterClientOptions;
import io.lettuce.core.cluster.RedisClusterClient;
import io.lettuce.core.cluster.SlotHash;
import io.lettuce.core.cluster.api.StatefulRedisClusterConnection;
import io.lettuce.core.cluster.api.async.RedisAdvancedClusterAsyncCommands;
import io.lettuce.core.cluster.api.sync.RedisAdvancedClusterCommands;
import java.time.Duration;
import java.util.List;

final class LettuceClusterClient extends LettuceCommands {
    private final RedisClusterClient client;
    private final StatefulRedisClusterConnection<String, String> connection;

    LettuceClusterClient(List<RedisURI> nodes, int protocol) {
        nodes.forEach(node -> node.setClientName(CLIENT_NAME));
        client = RedisClusterClient.create(nodes);
        client.setOptions(ClusterClientOptions.builder().protocolVersion(version(protocol)).build());
        connection = client.connect();
    }

    @Override
    RedisAdvancedClusterCommands<String, String> sync() {
        return connection.sync();
    }

    @Override
    RedisAdvancedClusterAsyncCommands<String, String> async() {
        return connection.async();
    }

    /** A transaction has one connection, to the node that has the keys' slot. */
    @Override
    public List<Object> transaction(List<String[]> commands) {
        int slot = SlotHash.getSlot(commands.get(0)[1]);
        RedisCommands<String, String> node =
                connection.getConnection(connection.getPartitions().getPartitionBySlot(slot).getNodeId()).sync();
        node.multi();
        commands.forEach(command -> dispatch(node, command)); // each is answered QUEUED
        return node.exec().stream().toList();
    }

    @Override
    public void close() {
        connection.close();
        client.shutdown(Duration.ZERO, Duration.ofSeconds(5));
    }
}
