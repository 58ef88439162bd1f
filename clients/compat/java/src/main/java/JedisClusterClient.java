import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import redis.clients.jedis.AbstractTransaction;
import redis.clients.jedis.ClusterPipeline;
import redis.clients.jedis.CommandArguments;
import redis.clients.jedis.Connection;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.RedisClusterClient;
import redis.clients.jedis.RedisProtocol;
import redis.clients.jedis.Response;
import redis.clients.jedis.Transaction;
import redis.clients.jedis.commands.ProtocolCommand;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.util.JedisClusterCRC16;
import redis.clients.jedis.util.SafeEncoder;

final class JedisClusterClient implements Client {
    private final RedisClusterClient jedis;

    JedisClusterClient(Set<HostAndPort> nodes, int protocol) {
        jedis = RedisClusterClient.builder()
                .nodes(nodes)
                .clientConfig(DefaultJedisClientConfig.builder()
                        .protocol(protocol == 2 ? RedisProtocol.RESP2 : RedisProtocol.RESP3)
                        .clientName(CLIENT_NAME)
                        .build())
                .build();
    }

    @Override
    public String ping() {
        return jedis.ping();
    }

    @Override
    public String info() {
        return SafeEncoder.encode((byte[]) jedis.sendCommand("any", name("CLIENT"), "INFO"));
    }

    @Override
    public Object send(String... command) {
        return jedis.sendCommand(command[1], name(command[0]), Arrays.copyOfRange(command, 1, command.length));
    }

    @Override
    public List<Object> pipeline(List<String[]> commands) {
        List<Response<Object>> responses = new ArrayList<>();
        try (ClusterPipeline pipeline = jedis.pipelined()) {
            for (String[] command : commands) {
                CommandArguments arguments = new CommandArguments(name(command[0])).key(command[1]);
                arguments.addObjects((Object[]) Arrays.copyOfRange(command, 2, command.length));
                responses.add(pipeline.sendCommand(arguments));
            }
            pipeline.sync();
        }
        List<Object> replies = new ArrayList<>();
        for (Response<Object> response : responses) {
            try {
                replies.add(response.get());
            } catch (JedisDataException e) {
                replies.add(e);
            }
        }
        return replies;
    }

    /** A transaction has one connection, to the node that has the keys' slot. */
    @Override
    public List<Object> transaction(List<String[]> commands) {
        int slot = JedisClusterCRC16.getSlot(commands.get(0)[1]);
        try (Connection connection = jedis.getConnectionFromSlot(slot);
                AbstractTransaction transaction = new Transaction(connection)) {
            for (String[] command : commands) {
                transaction.sendCommand(name(command[0]), Arrays.copyOfRange(command, 1, command.length));
            }
            return transaction.exec();
        }
    }

    @Override
    public long del(String key) {
        return jedis.del(key);
    }

    @Override
    public State state(String key) {
        return new State(jedis.exists(key), jedis.type(key), jedis.ttl(key), jedis.pttl(key));
    }

    @Override
    public boolean isServerError(Object thrown) {
        return thrown instanceof JedisDataException;
    }

    @Override
    public void close() {
        jedis.close();
    }

    /** The command as one that Jedis has no method for. */
    private static ProtocolCommand name(String command) {
        return () -> SafeEncoder.encode(command);
    }
}
