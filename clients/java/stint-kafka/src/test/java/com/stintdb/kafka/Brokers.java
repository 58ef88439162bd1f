package com.stintdb.kafka;

import java.io.PrintStream;
import java.io.Writer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.metadata.storage.Formatter;

/** Two real brokers in processes of their own, the first with the controller. They end with {@link #close}, or with this process. */
final class Brokers implements AutoCloseable {
    private static final int CONTROLLER_PORT = 19093;

    private final String host;
    private final List<Process> processes = new ArrayList<>();

    /** Starts both with these settings, and waits until they know each other. */
    Brokers(Path folder, Map<String, String> settings) throws Exception {
        long pid = ProcessHandle.current().pid(); // an address of its own, so that its ports are free
        this.host = "127." + (64 + (pid >> 16) % 64) + "." + (pid >> 8) % 256 + "." + pid % 256;
        String cluster = Uuid.randomUuid().toString();
        try {
            start(folder, 1, "broker,controller", cluster, settings);
            start(folder, 2, "broker", cluster, settings);
            try (Admin admin = admin()) {
                Waiting.until(() -> {
                    if (!processes.stream().allMatch(Process::isAlive)) {
                        throw new IllegalStateException("a broker ended");
                    }
                    return nodes(admin) == 2;
                });
            }
        } catch (Exception e) {
            close();
            throw e;
        }
    }

    private static int nodes(Admin admin) throws InterruptedException {
        try {
            return admin.describeCluster().nodes().get().size();
        } catch (ExecutionException e) { // it does not answer yet
            return 0;
        }
    }

    private static int port(int node) {
        return 19091 + 10 * node;
    }

    private void start(Path folder, int node, String roles, String cluster, Map<String, String> settings) throws Exception {
        Path data = folder.resolve("data" + node);
        Properties properties = new Properties();
        properties.putAll(Map.of(
                "node.id", Integer.toString(node),
                "process.roles", roles,
                "controller.quorum.voters", "1@" + host + ":" + CONTROLLER_PORT,
                "controller.listener.names", "CONTROLLER",
                "listeners", "PLAINTEXT://" + host + ":" + port(node) + (node == 1 ? ",CONTROLLER://" + host + ":" + CONTROLLER_PORT : ""),
                "log.dirs", data.toString(),
                "offsets.topic.replication.factor", "1",
                "offsets.topic.num.partitions", "1",
                "group.initial.rebalance.delay.ms", "0",
                "log.cleaner.enable", "false"));
        properties.putAll(settings);
        Path file = folder.resolve("server" + node + ".properties");
        try (Writer writer = Files.newBufferedWriter(file)) {
            properties.store(writer, null);
        }
        new Formatter().setNodeId(node).setClusterId(cluster).setDirectories(List.of(data.toString())).setMetadataLogDirectory(data.toString())
                .setControllerListenerName("CONTROLLER").setPrintStream(new PrintStream(PrintStream.nullOutputStream())).run();
        List<String> command = new ArrayList<>();
        if (Files.exists(Path.of("/usr/bin/setpriv"))) {
            command.addAll(List.of("setpriv", "--pdeathsig", "KILL", "--"));
        }
        command.addAll(List.of(Path.of(System.getProperty("java.home"), "bin/java").toString(), "-Xmx160m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
                "-cp", System.getProperty("java.class.path"), "kafka.Kafka", file.toString()));
        Path log = folder.resolve("broker" + node + ".log");
        processes.add(new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(log.toFile()).start());
    }

    /** The addresses for clients. */
    String addresses() {
        return host + ":" + port(1) + "," + host + ":" + port(2);
    }

    Admin admin() {
        return Admin.create(Map.of("bootstrap.servers", addresses()));
    }

    /** Kills one. */
    void kill(int node) throws InterruptedException {
        processes.get(node - 1).destroyForcibly().waitFor();
    }

    /** Kills both. */
    @Override
    public void close() {
        processes.forEach(Process::destroyForcibly);
        for (Process each : processes) {
            try {
                each.waitFor(1, TimeUnit.MINUTES);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
    }
}
