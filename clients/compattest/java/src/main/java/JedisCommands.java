import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import redis.clients.jedis.AbstractPipeline;
import redis.clients.jedis.AbstractTransaction;
import redis.clients.jedis.CommandArguments;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.JedisClientConfig;
import redis.clients.jedis.RedisProtocol;
import redis.clients.jedis.Response;
import redis.clients.jedis.UnifiedJedis;
import redis.clients.jedis.commands.ProtocolCommand;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.util.SafeEncoder;

/** The part of Jedis that is the same for one server and for a cluster. */
abstract class JedisCommands implements Client {
    /** The connections to the server or the cluster. */
    abstract UnifiedJedis jedis();

    static JedisClientConfig config(int protocol) {
        return DefaultJedisClientConfig.builder()
                .protocol(protocol == 2 ? RedisProtocol.RESP2 : RedisProtocol.RESP3)
                .clientName(CLIENT_NAME)
                .timeoutMillis(60_000) // a busy machine exceeds the usual two seconds
                .build();
    }

    @Override
    public String ping() {
        return jedis().ping();
    }

    @Override
    public List<Object> pipeline(List<String[]> commands) {
        List<Response<Object>> responses = new ArrayList<>();
        try (AbstractPipeline pipeline = jedis().pipelined()) {
            for (String[] command : commands) {
                CommandArguments arguments = new CommandArguments(name(command)).key(command[1]);
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

    /** Sends the commands within a transaction and returns its replies. */
    static List<Object> transact(AbstractTransaction transaction, List<String[]> commands) {
        commands.forEach(command -> transaction.sendCommand(name(command), arguments(command)));
        return transaction.exec();
    }

    @Override
    public long del(String key) {
        return jedis().del(key);
    }

    @Override
    public State state(String key) {
        return new State(jedis().exists(key), jedis().type(key), jedis().ttl(key), jedis().pttl(key));
    }

    @Override
    public boolean isServerError(Object thrown) {
        return thrown instanceof JedisDataException;
    }

    @Override
    public void close() {
        jedis().close();
    }

    /** A reply that Jedis returns as bytes. */
    static String text(Object reply) {
        return SafeEncoder.encode((byte[]) reply);
    }

    /** The command as a protocol command, without a method of Jedis. */
    static ProtocolCommand name(String... command) {
        return () -> SafeEncoder.encode(command[0]);
    }

    static String[] arguments(String[] command) {
        return Arrays.copyOfRange(command, 1, command.length);
    }
}
