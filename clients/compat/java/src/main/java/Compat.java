import java.util.List;

/**
 * Uses a Stint server through Java's Redis client libraries, unchanged, and checks every reply.
 *
 * <p>The server's address comes from STINT_ADDR. Each client and protocol prints one line, "Jedis RESP3: 150 checks"; a
 * reply that is not the promised one is printed too, and the program exits with 1.
 */
public final class Compat {
    /** A client, the name it gives itself with CLIENT SETINFO, and how to connect it. */
    private record Suite(String name, String library, int protocol, Contract.Connect connect) {}

    public static void main(String[] args) {
        String[] address = System.getenv("STINT_ADDR").split(":");
        String host = address[0];
        int port = Integer.parseInt(address[1]);
        boolean failed = false;
        for (Suite s : List.of(
                new Suite("Jedis", "jedis", 2, () -> new JedisClient(host, port, 2)),
                new Suite("Jedis", "jedis", 3, () -> new JedisClient(host, port, 3)),
                new Suite("Lettuce", "Lettuce", 2, () -> new LettuceClient(host, port, 2)),
                new Suite("Lettuce", "Lettuce", 3, () -> new LettuceClient(host, port, 3)))) {
            String name = s.name + " RESP" + s.protocol;
            Contract contract = new Contract(name, s.library, s.protocol, s.connect);
            contract.run();
            System.out.println(name + ": " + contract.checks() + " checks");
            failed |= contract.failures() > 0 || contract.checks() == 0;
        }
        System.exit(failed ? 1 : 0);
    }
}
