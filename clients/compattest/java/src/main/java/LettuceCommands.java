import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisFuture;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import io.lettuce.core.cluster.api.sync.RedisClusterCommands;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.output.ArrayOutput;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.ProtocolKeyword;
import io.lettuce.core.protocol.ProtocolVersion;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletionException;

/** The part of Lettuce that is the same for one server and for a cluster. */
abstract class LettuceCommands implements Client {
    /** The connection's commands, each of which waits for its reply. */
    abstract RedisClusterCommands<String, String> sync();

    /** The same, answered by futures. */
    abstract RedisClusterAsyncCommands<String, String> async();

    static ProtocolVersion version(int protocol) {
        return protocol == 2 ? ProtocolVersion.RESP2 : ProtocolVersion.RESP3;
    }

    /** Sends a command that Lettuce has no method for. */
    static List<Object> dispatch(RedisClusterCommands<String, String> to, String... command) {
        return to.dispatch(name(command), new ArrayOutput<>(StringCodec.UTF8), arguments(command));
    }

    @Override
    public String ping() {
        return sync().ping();
    }

    @Override
    public String info() {
        return sync().clientInfo();
    }

    @Override
    public Object send(String... command) {
        return dispatch(sync(), command);
    }

    @Override
    public List<Object> pipeline(List<String[]> commands) {
        List<RedisFuture<List<Object>>> futures = new ArrayList<>();
        for (String[] command : commands) {
            futures.add(async().dispatch(name(command), new ArrayOutput<>(StringCodec.UTF8), arguments(command)));
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
    public long del(String key) {
        return sync().del(key);
    }

    @Override
    public State state(String key) {
        return new State(sync().exists(key) == 1, sync().type(key), sync().ttl(key), sync().pttl(key));
    }

    @Override
    public boolean isServerError(Object thrown) {
        return thrown instanceof RedisCommandExecutionException;
    }

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
