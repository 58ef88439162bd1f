package com.stintdb.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;

/** New processes. */
class ProcessTest {
    private static final int TIMEOUT_MS = 1000;

    private static Process start(String address, ProcessBuilder.Redirect errors) throws IOException {
        String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
        return new ProcessBuilder(java, "-Xmx64m", "-XX:+UseSerialGC", "-cp", System.getProperty("java.class.path"), FirstCall.class.getName(), address,
                        Integer.toString(TIMEOUT_MS))
                .redirectError(errors)
                .start();
    }

    /** Connecting takes longer than the deadline of a call, and the server decides the first call all the same. */
    @Test
    void serverDecidesTheFirstCall() throws Exception {
        try (RealServer server = new RealServer();
                Proxy proxy = new Proxy(server)) {
            proxy.holds = 2 * TIMEOUT_MS;
            Process process = start(proxy.url(), ProcessBuilder.Redirect.INHERIT);
            assertEquals("SERVER", process.inputReader(StandardCharsets.UTF_8).readLine());
            assertEquals(0, process.waitFor());
        }
    }

    @Test
    void firstFallbackIsOneWarning() throws Exception {
        Process process = start("redis://127.0.0.1:1", ProcessBuilder.Redirect.PIPE); // nobody listens there
        List<String> errors = process.errorReader(StandardCharsets.UTF_8).lines().filter(line -> line.startsWith("WARNING: Stint did not decide a request")).toList();
        assertEquals(List.of("FALLBACK", "FALLBACK", "FALLBACK"), process.inputReader(StandardCharsets.UTF_8).lines().toList());
        assertEquals(1, errors.size());
        assertTrue(errors.get(0).contains("there is no connection to Stint at 127.0.0.1:1"), errors.get(0));
        assertEquals(0, process.waitFor());
    }
}
