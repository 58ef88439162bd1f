package com.stintdb.client;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.cluster.SlotHash;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BooleanSupplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Calls go to the leaders of their keys. */
class LeadersTest {
    private static final Duration LONG = Duration.ofSeconds(30);
    private static final Pattern FORWARDED = Pattern.compile("(?m)^forwarded:([0-9]+)");

    private int asked;

    private static Limiter limiter(List<String> addresses) {
        return Limiter.builder(Policy.failClosed(), addresses.toArray(String[]::new)).timeout(LONG).connectTimeout(LONG).build();
    }

    /** Asks about twenty new keys, and returns whether the server decided all. */
    private boolean ask(Limiter limiter) {
        boolean all = true;
        for (int i = 0; i < 20; i++) {
            all &= limiter.blocking().allow("key:" + asked++, Limit.per(5, Duration.ofDays(1))).source() == Source.SERVER;
        }
        return all;
    }

    private static void until(BooleanSupplier what) {
        while (!what.getAsBoolean()) {
            Pause.of(10);
        }
    }

    /** Lets each of two nodes show that the first leads the lower half of the slots, and the second the upper half. */
    private static void divide(Scripted low, Scripted high) {
        String slots = "*2\r\n*3\r\n:0\r\n:8191\r\n*2\r\n+127.0.0.1\r\n:" + port(low) + "\r\n*3\r\n:8192\r\n:16383\r\n*2\r\n+127.0.0.1\r\n:" + port(high);
        low.slots = slots;
        high.slots = slots;
    }

    /** Two nodes that redirect. */
    private void callsGoToTheLeaders(int given) throws Exception {
        try (Scripted low = new Scripted();
                Scripted high = new Scripted()) {
            List<Scripted> nodes = List.of(low, high);
            divide(low, high);
            for (Scripted node : nodes) {
                node.replyByKey = key -> {
                    Scripted leader = SlotHash.getSlot(key) < 8192 ? low : high;
                    return leader == node ? NodesTest.GRANTED : "-MOVED 7 127.0.0.1:" + port(leader);
                };
            }
            try (Limiter limiter = limiter(nodes.stream().limit(given).map(Scripted::url).toList())) {
                until(() -> {
                    int before = low.commands.size() + high.commands.size();
                    assertEquals(true, ask(limiter));
                    return low.commands.size() + high.commands.size() - before == 20;
                });
            }
        }
    }

    @Test
    void aLeaderWhoseConnectionDiedWithoutASignGetsAnotherOne() throws Exception {
        try (Scripted low = new Scripted();
                Scripted high = new Scripted()) {
            divide(low, high);
            low.reply = NodesTest.GRANTED;
            high.reply = NodesTest.GRANTED;
            try (Limiter limiter = Limiter.builder(Policy.failClosed(), low.url(), high.url()).timeout(Duration.ofMillis(50)).connectTimeout(LONG)
                    .breaker(Integer.MAX_VALUE, LONG).build()) {
                until(() -> isAsked(limiter, low) && isAsked(limiter, high));
                high.ignorePresent();
                high.commands.clear();
                until(() -> isAsked(limiter, high));
            }
        }
    }

    private boolean isAsked(Limiter limiter, Scripted node) {
        ask(limiter);
        return !node.commands.isEmpty();
    }

    private static String port(Scripted node) {
        return node.url().substring(node.url().lastIndexOf(':') + 1);
    }

    @Test
    void callsGoToTheLeadersOfGivenNodes() throws Exception {
        callsGoToTheLeaders(2);
    }

    @Test
    void callsGoToTheLeadersThatRedirectionsName() throws Exception {
        callsGoToTheLeaders(1);
    }

    /** Addresses at which nobody listens yet. They are nobody else's while the sockets are open. */
    private static List<Socket> reserve(int count) throws Exception {
        List<Socket> reserved = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            Socket socket = new Socket();
            socket.setReuseAddress(true);
            socket.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
            reserved.add(socket);
        }
        return reserved;
    }

    private static String address(Socket reserved) {
        return "127.0.0.1:" + reserved.getLocalPort();
    }

    private static List<String> forwarded(List<RealServer> nodes) {
        List<String> counts = new ArrayList<>();
        for (RealServer node : nodes) {
            try (Admin admin = new Admin(node)) {
                Matcher found = FORWARDED.matcher(admin.run("INFO", "cluster").toString());
                assertEquals(true, found.find());
                counts.add(found.group(1));
            }
        }
        return counts;
    }

    /** How many nodes lead groups, according to one of them. */
    private static long leading(RealServer node) {
        try (Admin admin = new Admin(node)) {
            return admin.run("CLUSTER", "SLOTS").stream().map(range -> ((List<?>) range).get(2)).distinct().count();
        } catch (RedisCommandExecutionException e) {
            return 0; // the cluster is still forming
        }
    }

    /** Nodes with groups that forward have nothing to forward; when one dies, the others answer. */
    @Test
    void noNodeForwards(@TempDir Path directory) throws Exception {
        List<Socket> peers = reserve(3);
        List<Socket> clients = reserve(3);
        List<RealServer> nodes = new ArrayList<>();
        try {
            String all = String.join(",", peers.stream().map(LeadersTest::address).toList());
            for (int i = 0; i < 3; i++) {
                String own = address(clients.get(i));
                nodes.add(new RealServer("--listen", own, "--advertise", own, "--cluster-listen", address(peers.get(i)), "--cluster-peers", all,
                        "--node-id", "n" + i, "--bootstrap-expect", "3", "--groups", "3", "--dir", directory.resolve("n" + i).toString()));
            }
            until(() -> leading(nodes.get(1)) == 3);
            try (Limiter limiter = limiter(clients.stream().map(each -> "redis://" + address(each)).toList())) {
                until(() -> {
                    List<String> before = forwarded(nodes);
                    return ask(limiter) && forwarded(nodes).equals(before);
                });
                nodes.get(0).kill();
                until(() -> ask(limiter));
            }
        } finally {
            nodes.forEach(RealServer::close);
            for (Socket each : clients) {
                each.close();
            }
            for (Socket each : peers) {
                each.close();
            }
        }
    }
}
