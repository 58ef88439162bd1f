package com.stintdb.bucket4j;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.stintdb.client.Limiter;
import com.stintdb.client.Policy;
import com.stintdb.test.StintServer;
import io.github.bucket4j.distributed.proxy.AbstractProxyManagerBuilder;
import io.github.bucket4j.tck.AbstractDistributedBucketTest;
import io.github.bucket4j.tck.ProxyManagerSpec;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.TestExecutionExceptionHandler;

/** Bucket4j's own tests of remote backends, on a real server. Those of calls that cannot be mapped end with their refusals. */
@ExtendWith(TestKitTest.Refusals.class)
class TestKitTest extends AbstractDistributedBucketTest {
    private static final Duration LONG = Duration.ofSeconds(30);
    private static final String INTERVALS = "refillIntervally: ";
    private static final String NOT_FULL = "initialTokens: ";

    /** Tests that cannot pass, and the sentences that end them. */
    private static final Map<String, String> REFUSED = Map.ofEntries(
            Map.entry("testOptimizations", "withOptimization: "),
            Map.entry("testOptimizationsAsync", "withOptimization: "),
            Map.entry("testUnconditionalConsume", "consumeIgnoringRateLimits: "),
            Map.entry("testUnconditionalConsumeVerbose", "asVerbose: "),
            Map.entry("testVerboseBucket", INTERVALS),
            Map.entry("testParallelInitialization", INTERVALS),
            Map.entry("testParallelInitialization_withTimeout", INTERVALS),
            Map.entry("testAsyncParallelInitialization", INTERVALS),
            Map.entry("testAsyncParallelInitialization_withTimeout", INTERVALS),
            Map.entry("test_1000_tokens_consumption", INTERVALS),
            Map.entry("test_1000_tokens_consumption_async", INTERVALS),
            Map.entry("testTryConsume", NOT_FULL),
            Map.entry("testTryConsumeWithLimit", NOT_FULL));

    private static final Set<String> refused = new HashSet<>();

    private static StintServer server;
    private static Limiter limiter;

    private static final class Builder extends AbstractProxyManagerBuilder<String, StintProxyManager<String>, Builder> {
        @Override
        public StintProxyManager<String> build() {
            return StintProxyManager.of(limiter);
        }
    }

    @BeforeAll
    static void start() {
        server = StintServer.start(Path.of(System.getenv("SERVER_BINARY")));
        limiter = Limiter.builder(Policy.failClosed(), server.url()).timeout(LONG).connectTimeout(LONG).build();
        specs = List.of(new ProxyManagerSpec<>("Stint", () -> UUID.randomUUID().toString(), Builder::new));
    }

    @AfterAll
    static void stop() {
        limiter.close();
        server.close();
        assertEquals(REFUSED.keySet(), refused);
    }

    /** Expects the refusals. */
    static final class Refusals implements TestExecutionExceptionHandler {
        @Override
        public void handleTestExecutionException(ExtensionContext context, Throwable error) throws Throwable {
            String sentence = REFUSED.get(context.getRequiredTestMethod().getName());
            if (sentence == null) {
                throw error;
            }
            assertTrue(isRefused(error, sentence), error::toString);
            refused.add(context.getRequiredTestMethod().getName());
        }

        private static boolean isRefused(@Nullable Throwable error, String sentence) {
            return error != null && (String.valueOf(error.getMessage()).startsWith(sentence) || isRefused(error.getCause(), sentence));
        }
    }
}
