import io.lettuce.core.RedisURI;
import io.lettuce.core.cluster.ClusterClientOptions;
import io.lettuce.core.cluster.ClusterTopologyRefreshOptions;
import io.lettuce.core.cluster.RedisClusterClient;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Scanner;
import java.util.function.Function;
import redis.clients.jedis.HostAndPort;

/** Serves ../clusterkills_test.go: of each line, KEY CALLS, it makes the calls, and prints how many were granted. */
public final class Take {
    public static void main(String[] args) {
        String library = args[0];
        String limit = args[2];
        List<HostAndPort> nodes =
                Arrays.stream(args[1].split(",")).map(HostAndPort::from).toList();
        Function<String[], Object> send = library.equals("Jedis") ? jedis(nodes) : lettuce(nodes);
        System.out.println("uses " + library);
        Scanner lines = new Scanner(System.in);
        while (lines.hasNext()) {
            String key = lines.next();
            int calls = lines.nextInt();
            try {
                long granted = 0;
                for (int i = 0; i < calls; i++) {
                    List<?> reply = (List<?>) send.apply(new String[] {"TB.ACQUIRE", key, limit, "1/365d"});
                    granted += (long) reply.get(0);
                }
                System.out.println("passed " + granted);
            } catch (RuntimeException e) {
                System.out.println("failed " + e);
            }
        }
        System.exit(0);
    }

    private static Function<String[], Object> jedis(List<HostAndPort> nodes) {
        var client = redis.clients.jedis.RedisClusterClient.builder()
                .nodes(new HashSet<>(nodes))
                .maxAttempts(300)
                .maxTotalRetriesDuration(Duration.ofMinutes(2))
                .build();
        return command ->
                client.sendCommand(command[1], JedisCommands.name(command), JedisCommands.arguments(command));
    }

    private static Function<String[], Object> lettuce(List<HostAndPort> nodes) {
        RedisClusterClient client = RedisClusterClient.create(nodes.stream()
                .map(node -> RedisURI.builder()
                        .withHost(node.getHost())
                        .withPort(node.getPort())
                        .withTimeout(Duration.ofMinutes(2))
                        .build())
                .toList());
        ClusterTopologyRefreshOptions refresh = ClusterTopologyRefreshOptions.builder()
                .enableAllAdaptiveRefreshTriggers()
                .enablePeriodicRefresh(Duration.ofSeconds(1))
                .build();
        client.setOptions(ClusterClientOptions.builder()
                .topologyRefreshOptions(refresh)
                .maxRedirects(300)
                .build());
        var connection = client.connect();
        return command -> LettuceCommands.dispatch(connection.sync(), command);
    }

    private Take() {}
}
