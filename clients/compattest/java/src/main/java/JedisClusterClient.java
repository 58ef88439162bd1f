import java.util.List;
import java.util.Set;
import redis.clients.jedis.AbstractTransaction;
import redis.clients.jedis.Connection;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.RedisClusterClient;
import redis.clients.jedis.Transaction;
import redis.clients.jedis.util.JedisClusterCRC16;

final class JedisClusterClient extends JedisCommands {
    private final RedisClusterClient jedis;

    JedisClusterClient(Set<HostAndPort> nodes, int protocol) {
        jedis = RedisClusterClient.builder().nodes(nodes).clientConfig(config(protocol)).build();
    }

    @Override
    RedisClusterClient jedis() {
        return jedis;
    }

    @Override
    public String info() {
        return text(jedis.sendCommand("any", name("CLIENT"), "INFO"));
    }

    /** The key selects the node. */
    @Override
    public Object send(String... command) {
        return jedis.sendCommand(command[1], name(command), arguments(command));
    }

    /** A transaction has one connection, to the node that has the keys' slot. */
    @Override
    public List<Object> transaction(List<String[]> commands) {
        int slot = JedisClusterCRC16.getSlot(commands.get(0)[1]);
        try (Connection connection = jedis.getConnectionFromSlot(slot);
                AbstractTransaction transaction = new Transaction(connection)) {
            return transact(transaction, commands);
        }
    }
}
