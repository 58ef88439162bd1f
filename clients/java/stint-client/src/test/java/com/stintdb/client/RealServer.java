package com.stintdb.client;

import static org.junit.jupiter.api.Assertions.fail;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A Stint server of a test, on a port of its choice. Its program is named by the environment variable SERVER_BINARY. It ends with this process at the latest. */
final class RealServer implements AutoCloseable {
    private static final Pattern READY = Pattern.compile("^ready: accepting connections on [^,]*?:(\\d+)\\b.*");

    private final List<String> flags;
    private Process process;
    private int port;

    RealServer(String... flags) throws IOException {
        this.flags = List.of(flags);
        start();
    }

    /** Starts it again, on another port. */
    void start() throws IOException {
        List<String> command = new ArrayList<>();
        if (Files.exists(Path.of("/usr/bin/setpriv"))) {
            command.addAll(List.of("setpriv", "--pdeathsig", "KILL", "--"));
        }
        String binary = System.getenv("SERVER_BINARY");
        if (binary == null) {
            throw new IllegalStateException("SERVER_BINARY must name the server's program: go build -o /tmp/stint ./cmd/stint");
        }
        command.addAll(List.of(binary, "server", "--listen", "127.0.0.1:0", "--admin", ""));
        command.addAll(flags);
        process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
        BufferedReader output = process.inputReader(StandardCharsets.UTF_8);
        for (String line = output.readLine(); line != null; line = output.readLine()) {
            Matcher ready = READY.matcher(line);
            if (ready.matches()) {
                port = Integer.parseInt(ready.group(1));
                Thread drain = new Thread(() -> output.lines().forEach(later -> {}));
                drain.setDaemon(true);
                drain.start();
                return;
            }
        }
        fail("the server ended");
    }

    int port() {
        return port;
    }

    String url() {
        return "redis://127.0.0.1:" + port;
    }

    void kill() throws InterruptedException {
        process.destroyForcibly().waitFor();
    }

    void signal(String name) throws IOException, InterruptedException {
        Process kill = new ProcessBuilder("kill", "-" + name, Long.toString(process.pid())).inheritIO().start();
        if (!kill.waitFor(1, TimeUnit.MINUTES) || kill.exitValue() != 0) {
            fail("kill -" + name + " failed");
        }
    }

    /** Sends SIGSTOP, and waits until it has taken effect. */
    void stop() throws IOException, InterruptedException {
        signal("STOP");
        while (!Files.readString(Path.of("/proc/" + process.pid() + "/stat")).split("\\) ")[1].startsWith("T")) {
            Thread.onSpinWait();
        }
    }

    @Override
    public void close() {
        process.destroyForcibly();
    }
}
