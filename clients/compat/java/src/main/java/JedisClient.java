import java.util.Arrays;
import java.util.List;
import redis.clients.jedis.Pipeline;
import redis.clients.jedis.AbstractTransaction;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.RedisClient;
import redis.clients.jedis.RedisProtocol;
import redis.clients.jedis.commands.ProtocolCommand;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.util.SafeEncoder;

final class JedisClient implements Client {
    private final RedisClient jedis;

    JedisClient(String host, int port, int protocol) {
        jedis = RedisClient.builder()
                .hostAndPort(host, port)
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
        return SafeEncoder.encode((byte[]) send("CLIENT", "INFO"));
    }

    @Override
    public Object send(String... command) {
        return jedis.sendCommand(name(command), arguments(command));
    }

    @Override
    public List<Object> pipeline(List<String[]> commands) {
        try (Pipeline pipeline = jedis.pipelined()) {
            commands.forEach(command -> pipeline.sendCommand(name(command), arguments(command)));
            return pipeline.syncAndReturnAll();
        }
    }

    @Override
    public List<Object> transaction(List<String[]> commands) {
        try (AbstractTransaction transaction = jedis.multi()) {
            commands.forEach(command -> transaction.sendCommand(name(command), arguments(command)));
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
    private static ProtocolCommand name(String[] command) {
        return () -> SafeEncoder.encode(command[0]);
    }

    private static String[] arguments(String[] command) {
        return Arrays.copyOfRange(command, 1, command.length);
    }
}
