package com.stintdb.test;

import com.stintdb.client.StintException;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A Stint server on a loopback port of its choice, with its data in memory. It ends with {@link #close}, or with this process. */
public final class StintServer implements AutoCloseable {
    private static final Pattern READY = Pattern.compile("ready: accepting connections on [^,]*?:([0-9]+)(,.*)?");
    private static final int START_SECONDS = 60; // until a started server takes connections
    private static final int STOP_SECONDS = 10; // until a server that was asked to stop is killed
    private static final int MOST_OUTPUT = 10_000; // characters of its output for an exception

    private final Process process;
    private final String binary;
    private final Thread killer;
    private final StringBuilder output = new StringBuilder(); // guarded by itself
    private final CompletableFuture<Integer> port = new CompletableFuture<>();

    private StintServer(String binary, Process process) {
        this.binary = binary;
        this.process = process;
        this.killer = new Thread(process::destroyForcibly);
        Runtime.getRuntime().addShutdownHook(killer);
        Thread reader = new Thread(this::read, "stint-server-output");
        reader.setDaemon(true);
        reader.start();
    }

    /**
     * Starts the program named by the environment variable STINTTEST_BINARY, or {@code stint} in PATH. It throws {@link StintException} if there is no server
     * to start, or if it ends.
     *
     * @param flags other flags of {@code stint server}
     */
    public static StintServer start(String... flags) {
        String named = System.getenv("STINTTEST_BINARY");
        return start(Path.of(named == null ? "stint" : named), flags);
    }

    /** Starts the program at a path: see {@link #start(String...)}. */
    public static StintServer start(Path binary, String... flags) {
        List<String> command = new ArrayList<>(List.of(binary.toString(), "server", "--listen", "127.0.0.1:0", "--admin", ""));
        command.addAll(List.of(flags));
        StintServer server;
        try {
            server = new StintServer(binary.toString(), new ProcessBuilder(command).redirectErrorStream(true).start());
        } catch (IOException e) {
            throw new StintException(
                    "there is no server to start: " + e.getMessage() + "; set STINTTEST_BINARY to its path, or put stint into PATH", e);
        }
        server.awaitReady();
        return server;
    }

    /** Reads the output to its end, so that the server can always write. */
    private void read() {
        try (BufferedReader lines = process.inputReader(StandardCharsets.UTF_8)) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                synchronized (output) {
                    output.append(line).append('\n');
                    output.delete(0, Math.max(0, output.length() - MOST_OUTPUT));
                }
                Matcher ready = READY.matcher(line);
                if (ready.matches()) {
                    port.complete(Integer.valueOf(ready.group(1)));
                }
            }
        } catch (IOException e) {
            // it was killed
        }
        port.completeExceptionally(new StintException("it ended"));
    }

    private void awaitReady() {
        try {
            port.get(START_SECONDS, TimeUnit.SECONDS);
        } catch (ExecutionException | TimeoutException e) {
            process.destroyForcibly();
            String why = e instanceof TimeoutException ? "took no connections within " + START_SECONDS + " s" : "ended";
            synchronized (output) {
                throw new StintException(binary + " " + why + ":\n" + output);
            }
        } catch (InterruptedException e) {
            process.destroyForcibly();
            Thread.currentThread().interrupt();
            throw new StintException("interrupted while the server started", e);
        }
    }

    /** Its port on 127.0.0.1. */
    public int port() {
        return port.join();
    }

    /** Its address, such as "redis://127.0.0.1:50123". */
    public String url() {
        return "redis://127.0.0.1:" + port();
    }

    /** Ends the server. */
    @Override
    public void close() {
        try {
            Runtime.getRuntime().removeShutdownHook(killer);
        } catch (IllegalStateException e) {
            // this process ends, and the hook kills the server
        }
        process.destroy();
        try {
            if (!process.waitFor(STOP_SECONDS, TimeUnit.SECONDS)) {
                process.destroyForcibly().waitFor();
            }
        } catch (InterruptedException e) {
            process.destroyForcibly();
            Thread.currentThread().interrupt();
        }
    }
}
