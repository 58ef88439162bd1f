import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * The checks that every client library of every language runs; ../../../../README.md lists them.
 *
 * <p>Limits refill so slowly (a token an hour, a token a day) that no reply depends on how fast the test runs.
 */
final class Contract {
    interface Connect {
        Client connect();
    }

    /** Transfers the leadership to another node, by a command to one node. */
    interface Transfer {
        String ask(int node);
    }

    private final String name;
    private final String library;
    private final int protocol;
    private final Connect connect;
    private final Transfer transfer;
    private Client client;
    private int checks;
    private int failures;

    /** transfer is null except for clients for clusters. */
    Contract(String name, String library, int protocol, Connect connect, Transfer transfer) {
        this.name = name;
        this.library = library;
        this.protocol = protocol;
        this.connect = connect;
        this.transfer = transfer;
    }

    int checks() {
        return checks;
    }

    int failures() {
        return failures;
    }

    void run() {
        try (Client c = connect.connect()) {
            client = c;
            handshake();
            pipelined();
            tokenBucket();
            errors();
            transaction();
            keys();
            concurrency();
            if (transfer != null) {
                follow();
            }
        } catch (Exception e) {
            e.printStackTrace();
            check(false, "gave up: %s", e);
        }
    }

    private void handshake() {
        String pong = client.ping();
        check("PONG".equals(pong), "PING: got %s", pong);

        String info = client.info();
        List<String> fields = Arrays.asList(info.trim().split(" "));
        for (String want : List.of("name=" + Client.CLIENT_NAME, "resp=" + protocol)) {
            check(fields.contains(want), "CLIENT INFO: no %s in %s", want, info);
        }
        check(info.contains(" lib-name=" + library), "CLIENT INFO: no lib-name=%s in %s", library, info);
    }

    private void pipelined() {
        String key = fresh("pipeline");
        List<Object> replies = client.pipeline(Collections.nCopies(100, command("CL.THROTTLE", key, "4", "1", "86400")));
        check(replies.size() == 100, "pipeline: %d replies to 100 commands", replies.size());
        for (int i = 0; i < replies.size(); i++) {
            Object reply = replies.get(i);
            boolean ok = i < 5
                    ? matches(reply, "0 5 " + (4 - i) + " -1 +")
                    : matches(reply, "1 5 0 + +") && (long) ((List<?>) reply).get(3) <= 86400;
            check(ok, "pipeline: reply %d: got %s", i + 1, reply);
        }
    }

    private void tokenBucket() {
        String key = fresh("bucket");
        reply("1 10 9 0 12000", "TB.ACQUIRE", key, "10", "5/m");

        key = fresh("options");
        reply("4 10 6 0 *", "TB.ACQUIRE", key, "10", "1/h", "4");
        reply("6 10 * 0 *", "TB.ACQUIRE", key, "10", "1/h", "6", "PEEK");
        reply("6 10 0 0 *", "TB.ACQUIRE", key, "10", "1/h", "10", "UPTO");
        reply("0 10 0 + *", "TB.ACQUIRE", key, "10", "1/h");
        reply("0 10 0 -1 *", "TB.ACQUIRE", key, "10", "1/h", "11");

        key = fresh("binary\0\u00ff\r\n");
        reply("1 10 9 0 12000", "TB.ACQUIRE", key, "10", "5/m");
    }

    private void errors() {
        String key = fresh("errors");
        String notAnInteger = "capacity: must be an integer between 1 and 1000000000000, got 'ten'";
        fails(notAnInteger, "TB.ACQUIRE", key, "ten", "1");
        fails("wrong number of arguments for 'tb.acquire' command", "TB.ACQUIRE", key);
        fails("unknown command 'TB.NONSUCH'", "TB.NONSUCH", key);
        reply("0 5 4 -1 86400", "CL.THROTTLE", key, "4", "1", "86400");
        fails("WRONGTYPE", "TB.ACQUIRE", key, "10", "1");

        // An error in a pipeline is the answer to one command and to no other.
        key = fresh("mixed");
        List<Object> replies = client.pipeline(List.of(
                command("TB.ACQUIRE", key, "10", "1/h"),
                command("TB.ACQUIRE", key, "10", "fast"),
                command("TB.ACQUIRE", key, "10", "1/h")));
        check(matches(replies.get(0), "1 10 9 0 *"), "mixed pipeline: reply 1: got %s", replies.get(0));
        check(surfaces(replies.get(1), "rate: "), "mixed pipeline: reply 2: got %s", replies.get(1));
        check(matches(replies.get(2), "1 10 8 0 *"), "mixed pipeline: reply 3: got %s", replies.get(2));
    }

    private void transaction() {
        String throttle = fresh("transaction-1");
        String bucket = fresh("transaction-2");
        List<Object> replies = client.transaction(List.of(
                command("CL.THROTTLE", throttle, "4", "1", "86400"),
                command("CL.THROTTLE", throttle, "4", "1", "86400"),
                command("TB.ACQUIRE", bucket, "10", "5/m")));
        List<String> wants = List.of("0 5 4 -1 86400", "0 5 3 -1 +", "1 10 9 0 12000");
        for (int i = 0; i < wants.size(); i++) {
            check(matches(replies.get(i), wants.get(i)), "EXEC: got %s, want %s", replies.get(i), wants.get(i));
        }
    }

    private void keys() {
        String throttle = fresh("keys-1");
        String bucket = fresh("keys-2");
        reply("0 5 4 -1 86400", "CL.THROTTLE", throttle, "4", "1", "86400");
        reply("1 10 9 0 3600000", "TB.ACQUIRE", bucket, "10", "1/h");
        state(throttle, "gcra", 86400);
        state(bucket, "token-bucket", 3600);

        long deleted = client.del(throttle);
        check(deleted == 1, "DEL: got %d", deleted);
        Client.State state = client.state(throttle);
        check(state.equals(new Client.State(false, "none", -2, -2)), "after DEL: got %s", state);
        reply("0 5 4 -1 86400", "CL.THROTTLE", throttle, "4", "1", "86400");
    }

    /** Eight clients ask fifty times each for one of fifty tokens. */
    private void concurrency() throws Exception {
        String key = fresh("concurrency");
        ExecutorService pool = Executors.newFixedThreadPool(8);
        List<Future<Long>> clients = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            clients.add(pool.submit(() -> {
                long granted = 0;
                try (Client c = connect.connect()) {
                    for (int n = 0; n < 50; n++) {
                        List<?> reply = (List<?>) c.send("TB.ACQUIRE", key, "50", "1/h");
                        granted += (long) reply.get(0);
                    }
                }
                return granted;
            }));
        }
        pool.shutdown();
        long granted = 0;
        for (Future<Long> c : clients) {
            granted += c.get();
        }
        check(granted == 50, "concurrency: %d granted of 50", granted);
    }

    /** The leader changes; the client finds the new one, and takes no more tokens than the limit. */
    private void follow() {
        String key = fresh("follow");
        for (int i = 0; i < 10; i++) {
            if (i % 3 == 1) {
                check("OK".equals(transfer.ask(i)), "RAFT TRANSFER");
            }
            reply("1 10 " + (9 - i) + " 0 *", "TB.ACQUIRE", key, "10", "1/d");
        }
        reply("0 10 0 + *", "TB.ACQUIRE", key, "10", "1/d");
    }

    private void check(boolean ok, String format, Object... arguments) {
        checks++;
        if (!ok) {
            failures++;
            System.err.println(name + ": FAILED: " + String.format(format, arguments));
        }
    }

    /**
     * A new key of this client, reset. All of them are in one slot, because clients for clusters require that of a
     * transaction's keys.
     */
    private String fresh(String key) {
        String full = "{" + name + "} " + key;
        client.del(full);
        return full;
    }

    private void reply(String want, String... command) {
        Object got = client.send(command);
        check(matches(got, want), "%s: got %s, want %s", String.join(" ", command), got, want);
    }

    private void fails(String text, String... command) {
        Object got;
        try {
            got = client.send(command);
        } catch (RuntimeException e) {
            got = e;
        }
        check(surfaces(got, text), "%s: got %s, want %s", String.join(" ", command), got, text);
    }

    private boolean surfaces(Object thrown, String text) {
        return client.isServerError(thrown) && ((Throwable) thrown).getMessage().contains(text);
    }

    private void state(String key, String type, long seconds) {
        Client.State state = client.state(key);
        check(state.exists(), "EXISTS: got %s", state);
        check(state.type().equals(type), "TYPE: got %s, want %s", state, type);
        check(0 < state.ttl() && state.ttl() <= seconds, "TTL: got %s", state);
        check(0 < state.pttl() && state.pttl() <= seconds * 1000, "PTTL: got %s", state);
    }

    private static String[] command(String... words) {
        return words;
    }

    /** Compares five integers to a pattern: * is any of them, + one above zero. */
    private static boolean matches(Object reply, String pattern) {
        String[] wants = pattern.split(" ");
        if (!(reply instanceof List<?> values) || values.size() != wants.length) {
            return false;
        }
        for (int i = 0; i < wants.length; i++) {
            if (!(values.get(i) instanceof Long got)) {
                return false;
            }
            boolean ok = switch (wants[i]) {
                case "*" -> true;
                case "+" -> got > 0;
                default -> got.toString().equals(wants[i]);
            };
            if (!ok) {
                return false;
            }
        }
        return true;
    }
}
