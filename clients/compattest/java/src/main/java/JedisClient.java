import java.util.List;
import redis.clients.jedis.AbstractTransaction;
import redis.clients.jedis.RedisClient;

final class JedisClient extends JedisCommands {
    private final RedisClient jedis;

    JedisClient(String host, int port, int protocol) {
        jedis = RedisClient.builder()
                .hostAndPort(host, port)
                .clientConfig(config(protocol))
                .build();
    }

    @Override
    RedisClient jedis() {
        return jedis;
    }

    @Override
    public String info() {
        return text(send("CLIENT", "INFO"));
    }

    @Override
    public Object send(String... command) {
        return jedis.sendCommand(name(command), arguments(command));
    }

    @Override
    public List<Object> transaction(List<String[]> commands) {
        try (AbstractTransaction transaction = jedis.multi()) {
            return transact(transaction, commands);
        }
    }
}
