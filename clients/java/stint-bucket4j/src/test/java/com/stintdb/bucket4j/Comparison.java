package com.stintdb.bucket4j;

import static org.junit.jupiter.api.Assertions.assertTrue;

import com.stintdb.client.BlockingLimiter;
import com.stintdb.client.Limit;
import com.stintdb.client.Limiter;
import com.stintdb.client.Policy;
import com.stintdb.test.StintServer;
import io.github.bucket4j.Bucket;
import io.github.bucket4j.BucketConfiguration;
import io.github.bucket4j.distributed.proxy.ProxyManager;
import io.github.bucket4j.redis.lettuce.Bucket4jLettuce;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisConnectionException;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.codec.RedisCodec;
import io.lettuce.core.codec.StringCodec;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.function.BooleanSupplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/**
 * Prints what decisions cost, in three interleaved rounds: those of stint-client beside Lettuce's SET, and those about one bucket by 16 threads beside
 * Bucket4j's compare-and-set. It is no test, and is run by its name: the README of clients/java has the command.
 */
class Comparison {
    private static final int REQUESTS = Integer.getInteger("requests", 1600);
    private static final int THREADS = 16;
    private static final int ROUNDS = 3;
    private static final double TICK_US = 10_000; // of /proc/PID/stat
    private static final long MANY = 1_000_000_000;
    private static final Pattern COMMANDS = Pattern.compile("total_commands_processed:(\\d+)");

    /** A server, and a connection that counts its commands. */
    private record Server(long pid, String url, RedisClient client, StatefulRedisConnection<String, String> connection) {
        static Server of(long pid, String url) {
            RedisClient client = RedisClient.create(url);
            return new Server(pid, url, client, client.connect());
        }

        /** Commands that it has carried out, without those of this method. */
        long commands() {
            Matcher found = COMMANDS.matcher(connection.sync().info("stats"));
            assertTrue(found.find(), "INFO has no total_commands_processed");
            return Long.parseLong(found.group(1));
        }

        ProxyManager<String> compareAndSet() {
            return Bucket4jLettuce.casBasedBuilder(client.connect(RedisCodec.of(StringCodec.UTF8, ByteArrayCodec.INSTANCE))).build();
        }
    }

    @Test
    void compare() throws Exception {
        long pid = ProcessHandle.current().pid(); // an address of its own, so that its port is free
        String host = "127." + (64 + (pid >> 16) % 64) + "." + (pid >> 8) % 256 + "." + pid % 256;
        Process redis = new ProcessBuilder("redis-server", "--bind", host, "--port", "19379", "--save", "").redirectOutput(ProcessBuilder.Redirect.DISCARD).start();
        try (StintServer stint = StintServer.start(Path.of(System.getenv("SERVER_BINARY")));
                Limiter limiter = Limiter.builder(Policy.failClosed(), stint.url()).timeout(Duration.ofSeconds(30)).build()) {
            long stintPid = ProcessHandle.current().children().filter(each -> each.pid() != redis.pid()).findFirst().orElseThrow().pid();
            Server ours = Server.of(stintPid, stint.url());
            Server theirs = connect(redis, "redis://" + host + ":19379");
            alone(ours, limiter.blocking());
            contended(ours, theirs, limiter);
            ours.client.shutdown();
            theirs.client.shutdown();
        } finally {
            redis.destroyForcibly().waitFor();
        }
    }

    private static Server connect(Process redis, String url) {
        while (true) {
            try {
                return Server.of(redis.pid(), url);
            } catch (RedisConnectionException e) { // it has not started yet
                assertTrue(redis.isAlive(), "redis-server ended");
                Thread.onSpinWait();
            }
        }
    }

    private static void alone(Server server, BlockingLimiter limiter) throws Exception {
        Limit limit = Limit.perSecond(MANY);
        for (int round = 0; round <= ROUNDS; round++) {
            measure(round, "one thread, Lettuce's SET", server, 1, () -> "OK".equals(server.connection.sync().set("key", "value")));
            measure(round, "one thread, stint-client", server, 1, () -> limiter.allow("limit", limit).allowed());
        }
    }

    private static void contended(Server stint, Server redis, Limiter limiter) throws Exception {
        BucketConfiguration configuration = BucketConfiguration.builder().addLimit(limit -> limit.capacity(MANY).refillGreedy(MANY, Duration.ofMinutes(1))).build();
        Bucket ours = StintProxyManager.of(limiter).getProxy("ours", () -> configuration);
        Bucket onRedis = redis.compareAndSet().getProxy("theirs", () -> configuration);
        Bucket onStint = stint.compareAndSet().getProxy("theirs", () -> configuration);
        for (int round = 0; round <= ROUNDS; round++) {
            measure(round, "16 threads, stint-bucket4j", stint, THREADS, () -> ours.tryConsume(1));
            measure(round, "16 threads, Bucket4j on Redis", redis, THREADS, () -> onRedis.tryConsume(1));
            measure(round, "16 threads, Bucket4j on Stint", stint, THREADS, () -> onStint.tryConsume(1));
        }
    }

    /** Makes decisions and prints their cost; round 0 warms up. */
    private static void measure(int round, String name, Server server, int threads, BooleanSupplier decision) throws Exception {
        int each = REQUESTS / threads;
        long[] times = new long[each * threads];
        long commands = server.commands();
        double client = ticks(ProcessHandle.current().pid());
        double ofServer = ticks(server.pid);
        long begun = System.nanoTime();
        List<Thread> all = new ArrayList<>();
        for (int i = 0; i < threads; i++) {
            int first = i * each;
            all.add(new Thread(() -> {
                for (int j = first; j < first + each; j++) {
                    long before = System.nanoTime();
                    times[j] = decision.getAsBoolean() ? System.nanoTime() - before : Long.MAX_VALUE;
                }
            }));
        }
        all.forEach(Thread::start);
        for (Thread thread : all) {
            thread.join();
        }
        double seconds = (System.nanoTime() - begun) / 1e9;
        client = (ticks(ProcessHandle.current().pid()) - client) * TICK_US / times.length;
        ofServer = (ticks(server.pid) - ofServer) * TICK_US / times.length;
        double sent = (double) (server.commands() - commands - 1) / times.length;
        Arrays.sort(times);
        assertTrue(times[0] > 0 && times[times.length - 1] < Long.MAX_VALUE, name + ": a decision failed");
        if (round > 0) {
            System.out.println(String.format(Locale.ROOT, "%-30s %8.0f a second, p50 %6.0f µs, CPU of the client %6.1f µs, of the server %6.1f µs, %5.2f commands each", name,
                    times.length / seconds, times[times.length / 2] / 1e3, client, ofServer, sent));
        }
    }

    /** User and system time of a process. */
    private static double ticks(long pid) throws IOException {
        String[] stat = Files.readString(Path.of("/proc/" + pid + "/stat")).replaceFirst(".*\\) ", "").split(" ");
        return Double.parseDouble(stat[11]) + Double.parseDouble(stat[12]);
    }
}
