import io.lettuce.core.RedisURI;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.RedisClient;
import redis.clients.jedis.commands.ProtocolCommand;
import redis.clients.jedis.util.SafeEncoder;

/**
 * Uses a Stint server through Java's Redis client libraries, unchanged, and checks every reply.
 *
 * <p>The server's address comes from STINT_ADDR, and those of a cluster's nodes, for clients that look for its leader,
 * from STINT_CLUSTER, separated by commas. Each client and protocol prints one line, "Jedis RESP3: 150 checks"; a wrong
 * reply is printed too, and the program exits with 1.
 */
public final class Compat {
    /** A client, its name in CLIENT SETINFO, and a function to connect it. */
    private record Suite(
            String name, String library, int protocol, Contract.Connect connect, Contract.Transfer transfer) {}

    public static void main(String[] args) {
        String[] address = System.getenv("STINT_ADDR").split(":");
        String host = address[0];
        int port = Integer.parseInt(address[1]);
        List<HostAndPort> nodes = Arrays.stream(System.getenv("STINT_CLUSTER").split(","))
                .map(HostAndPort::from)
                .toList();
        Contract.Transfer transfer = i -> transferLeadership(nodes.get(i % nodes.size()));
        boolean failed = false;
        for (Suite s : List.of(
                new Suite("Jedis", "jedis", 2, () -> new JedisClient(host, port, 2), null),
                new Suite("Jedis", "jedis", 3, () -> new JedisClient(host, port, 3), null),
                new Suite("Lettuce", "Lettuce", 2, () -> new LettuceClient(host, port, 2), null),
                new Suite("Lettuce", "Lettuce", 3, () -> new LettuceClient(host, port, 3), null),
                new Suite("Jedis cluster", "jedis", 2, () -> new JedisClusterClient(new HashSet<>(nodes), 2), transfer),
                new Suite("Jedis cluster", "jedis", 3, () -> new JedisClusterClient(new HashSet<>(nodes), 3), transfer),
                new Suite("Lettuce cluster", "Lettuce", 2, () -> new LettuceClusterClient(uris(nodes), 2), transfer),
                new Suite("Lettuce cluster", "Lettuce", 3, () -> new LettuceClusterClient(uris(nodes), 3), transfer))) {
            String name = s.name + " RESP" + s.protocol;
            Contract contract = new Contract(name, s.library, s.protocol, s.connect, s.transfer);
            contract.run();
            System.out.println(name + ": " + contract.checks() + " checks");
            failed |= contract.failures() > 0 || contract.checks() == 0;
        }
        System.exit(failed ? 1 : 0);
    }

    private static List<RedisURI> uris(List<HostAndPort> nodes) {
        return nodes.stream()
                .map(node -> RedisURI.create(node.getHost(), node.getPort()))
                .toList();
    }

    private static String transferLeadership(HostAndPort node) {
        ProtocolCommand raft = () -> SafeEncoder.encode("RAFT");
        try (RedisClient client = RedisClient.create(node)) {
            return SafeEncoder.encode((byte[]) client.sendCommand(raft, "TRANSFER"));
        }
    }
}
