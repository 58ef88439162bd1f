package com.stintdb.spring.gateway;

import com.stintdb.test.StintServer;
import com.sun.net.httpserver.HttpServer;
import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executors;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/**
 * The stock limiter of the gateway, on Redis and on Stint, beside ours, and no limiter: CPU of the gateway and of the server for each request, and the median
 * time. It is no test, so it runs on request only: see clients/java/README.md. All processes are on this machine; callers and the backend are in this one.
 */
class Comparison {
    private static final int REQUESTS = Integer.getInteger("requests", 20_000); // of each variant, in each round
    private static final int ROUNDS = 3;
    private static final long TICK_MICROS = 10_000; // of /proc/PID/stat
    private static final Pattern PORT = Pattern.compile(".*started on port ([0-9]+) .*");
    private static final String ROUTE = "--spring.cloud.gateway.server.webflux.routes[0].";

    private final List<AutoCloseable> ends = new ArrayList<>();

    /** A gateway, and the server that its limiter asks, 0 for none. */
    private record Variant(Process gateway, int port, long server) {}

    @Test
    void compare() throws Exception {
        HttpServer backend = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        backend.setExecutor(Executors.newFixedThreadPool(2));
        backend.createContext("/", exchange -> {
            exchange.sendResponseHeaders(200, -1);
            exchange.close();
        });
        backend.start();
        ends.add(() -> backend.stop(0));
        try {
            Map<String, Variant> variants = variants("http://127.0.0.1:" + backend.getAddress().getPort());
            for (Variant variant : variants.values()) {
                Load.run(variant.port, REQUESTS); // to warm up
            }
            for (int round = 1; round <= ROUNDS; round++) {
                System.out.printf("%nround %d: limiter, gateway's CPU µs per request, server's CPU µs per request, p50 µs%n", round);
                variants.forEach(Comparison::measure);
            }
        } finally {
            for (AutoCloseable end : ends) {
                end.close();
            }
        }
    }

    private Map<String, Variant> variants(String backend) throws Exception {
        int redisPort;
        try (ServerSocket free = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            redisPort = free.getLocalPort();
        }
        Process redis = new ProcessBuilder("redis-server", "--port", "" + redisPort, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no")
                .redirectOutput(ProcessBuilder.Redirect.DISCARD).start();
        ends.add(redis::destroyForcibly);
        StintServer stint = StintServer.start(Path.of(System.getenv("SERVER_BINARY")));
        ends.add(stint);
        long stintPid = ProcessHandle.current().children().filter(child -> child.pid() != redis.pid()).findFirst().orElseThrow().pid();
        String stock = "redis-rate-limiter.replenishRate=1000000";
        String burst = "redis-rate-limiter.burstCapacity=1000000";
        Map<String, Variant> variants = new LinkedHashMap<>();
        variants.put("none", gateway(backend, 0, redisPort, stint));
        variants.put("stock, Redis", gateway(backend, redis.pid(), redisPort, stint, stock, burst, "rate-limiter=#{@redisRateLimiter}"));
        variants.put("stock, Stint", gateway(backend, stintPid, stint.port(), stint, stock, burst, "rate-limiter=#{@redisRateLimiter}"));
        variants.put("ours", gateway(backend, stintPid, redisPort, stint, "stint-rate-limiter.limit=TB 1000000 1000000/s"));
        return variants;
    }

    private Variant gateway(String backend, long server, int redisPort, StintServer stint, String... arguments) throws IOException {
        List<String> command = new ArrayList<>(List.of(
                System.getProperty("java.home") + File.separator + "bin" + File.separator + "java", "-Xmx256m", "-cp", classPath(),
                ComparedGateway.class.getName(), "--server.port=0", "--server.address=127.0.0.1", "--stint.addresses=" + stint.url(), "--stint.when-down=fail-closed",
                "--stint.timeout=5s", "--spring.data.redis.port=" + redisPort, ROUTE + "id=r", ROUTE + "uri=" + backend, ROUTE + "predicates[0]=Path=/**"));
        if (arguments.length > 0) {
            command.add(ROUTE + "filters[0].name=RequestRateLimiter");
        }
        for (String argument : arguments) {
            command.add(ROUTE + "filters[0].args." + argument);
        }
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        ends.add(process::destroyForcibly);
        StringBuilder output = new StringBuilder();
        BufferedReader lines = process.inputReader();
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            output.append(line).append('\n');
            Matcher port = PORT.matcher(line);
            if (port.matches()) {
                Thread drain = new Thread(() -> lines.lines().forEach(later -> {}));
                drain.setDaemon(true);
                drain.start();
                return new Variant(process, Integer.parseInt(port.group(1)), server);
            }
        }
        throw new IOException("the gateway ended:\n" + output);
    }

    /** The class path without the other gateway. */
    private static String classPath() {
        return Arrays.stream(System.getProperty("java.class.path").split(File.pathSeparator))
                .filter(path -> !path.matches(".*(mvc|tomcat)[^/]*"))
                .collect(Collectors.joining(File.pathSeparator));
    }

    private static void measure(String name, Variant variant) {
        try {
            long gateway = ticks(variant.gateway.pid());
            long server = ticks(variant.server);
            long[] times = Load.run(variant.port, REQUESTS);
            long gatewayMicros = (ticks(variant.gateway.pid()) - gateway) * TICK_MICROS / times.length;
            long serverMicros = (ticks(variant.server) - server) * TICK_MICROS / times.length;
            System.out.printf("%-14s %6d %6d %6d%n", name, gatewayMicros, serverMicros, times[times.length / 2] / 1000);
        } catch (IOException | InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    /** User and system time of a process. */
    private static long ticks(long pid) throws IOException {
        if (pid == 0) {
            return 0;
        }
        String[] fields = Files.readString(Path.of("/proc/" + pid + "/stat")).split("\\) ")[1].split(" ");
        return Long.parseLong(fields[11]) + Long.parseLong(fields[12]);
    }
}
