package com.stintdb.bucket4j;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.stintdb.client.InvalidException;
import com.stintdb.test.FakeServer;
import io.github.bucket4j.Bandwidth;
import io.github.bucket4j.BucketConfiguration;
import io.github.bucket4j.ConsumptionProbe;
import io.github.bucket4j.EstimationProbe;
import io.github.bucket4j.TokensInheritanceStrategy;
import io.github.bucket4j.distributed.AsyncBucketProxy;
import io.github.bucket4j.distributed.BucketProxy;
import io.github.bucket4j.distributed.proxy.optimization.Optimizations;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

class StintProxyManagerTest {
    private static final BucketConfiguration ONE = configuration(Bandwidth.builder().capacity(10).refillGreedy(10, Duration.ofMinutes(1)).build());
    private static final BucketConfiguration TWO = configuration(
            Bandwidth.builder().capacity(10).refillGreedy(10, Duration.ofMinutes(1)).build(),
            Bandwidth.builder().capacity(15).refillGreedy(15, Duration.ofHours(1)).build());

    private final FakeServer server = new FakeServer();
    private final StintProxyManager<String> manager = StintProxyManager.of(server.limiter());

    private static BucketConfiguration configuration(Bandwidth... bandwidths) {
        var builder = BucketConfiguration.builder();
        for (Bandwidth bandwidth : bandwidths) {
            builder.addLimit(bandwidth);
        }
        return builder.build();
    }

    private BucketProxy bucket(String key, BucketConfiguration configuration) {
        return manager.builder().build(key, () -> configuration);
    }

    @Test
    void processesShareABucket() {
        BucketProxy bucket = bucket("k", ONE);
        BucketProxy other = StintProxyManager.of(server.limiter()).builder().build("k", () -> ONE);
        assertTrue(bucket.tryConsume(6) && other.tryConsume(4));
        assertFalse(bucket.tryConsume(1) || other.tryConsume(1) || bucket.tryConsume(Long.MAX_VALUE));
        assertEquals(0, bucket.getAvailableTokens());
        server.clock().advance(Duration.ofSeconds(30));
        assertEquals(5, other.getAvailableTokens());
        bucket.addTokens(3);
        assertEquals(8, other.getAvailableTokens());
        bucket.reset();
        assertEquals(10, other.getAvailableTokens());
        assertEquals(10, other.tryConsumeAsMuchAsPossible());
        assertEquals(0, other.tryConsumeAsMuchAsPossible(7));
    }

    @Test
    void probes() {
        BucketProxy bucket = bucket("k", ONE);
        ConsumptionProbe consumed = bucket.tryConsumeAndReturnRemaining(4);
        assertTrue(consumed.isConsumed());
        assertEquals(6, consumed.getRemainingTokens());
        assertEquals(TimeUnit.SECONDS.toNanos(24), consumed.getNanosToWaitForReset());
        EstimationProbe can = bucket.estimateAbilityToConsume(6);
        assertTrue(can.canBeConsumed());
        assertEquals(6, can.getRemainingTokens());
        ConsumptionProbe rejected = bucket.tryConsumeAndReturnRemaining(7);
        assertFalse(rejected.isConsumed());
        assertEquals(6, rejected.getRemainingTokens());
        assertEquals(TimeUnit.SECONDS.toNanos(6), rejected.getNanosToWaitForRefill());
        assertEquals(TimeUnit.SECONDS.toNanos(6), bucket.estimateAbilityToConsume(7).getNanosToWaitForRefill());
        assertEquals(Long.MAX_VALUE, bucket.estimateAbilityToConsume(11).getNanosToWaitForRefill());
    }

    @Test
    void severalBandwidthsTakeTogetherOrNot() {
        BucketProxy bucket = bucket("k", TWO);
        assertTrue(bucket.tryConsume(9));
        assertFalse(bucket.tryConsume(2)); // the first has one
        assertEquals(1, bucket.getAvailableTokens());
        server.clock().advance(Duration.ofMinutes(1));
        assertFalse(bucket.tryConsume(7)); // the second has 6
        assertTrue(bucket.tryConsume(6));
        bucket.reset();
        assertEquals(10, bucket.getAvailableTokens());
    }

    @Test
    void blockingBucketReservesAhead() throws Exception {
        BucketProxy bucket = bucket("k", ONE);
        assertTrue(bucket.asBlocking().tryConsume(10, Duration.ofSeconds(1)));
        assertFalse(bucket.asBlocking().tryConsume(1, Duration.ofSeconds(5)));
        long[] parked = new long[1];
        assertTrue(bucket.asBlocking().tryConsume(1, Duration.ofSeconds(6), nanos -> parked[0] = nanos));
        assertEquals(TimeUnit.SECONDS.toNanos(6), parked[0]);
    }

    @Test
    void asynchronously() throws Exception {
        AsyncBucketProxy bucket = manager.asAsync().builder().build("k", () -> CompletableFuture.completedFuture(TWO));
        assertTrue(bucket.tryConsume(10).get());
        assertFalse(bucket.tryConsume(1).get());
        assertEquals(Optional.of(TWO), manager.asAsync().getProxyConfiguration("k").get());
        manager.asAsync().removeProxy("k").get();
        assertEquals(Optional.empty(), manager.getProxyConfiguration("k"));
        assertTrue(bucket.tryConsume(10).get());
    }

    @Test
    void whatCannotBeMappedIsRefusedWithASentence() {
        BucketProxy one = bucket("one", ONE);
        Map<String, Executable> refused = Map.of(
                "consumeIgnoringRateLimits: use Limiter.force of stint-client", () -> one.consumeIgnoringRateLimits(1),
                "forceAddTokens: a bucket of Stint never has more tokens", () -> one.forceAddTokens(1),
                "replaceConfiguration: Stint takes the limit from each request", () -> one.replaceConfiguration(TWO, TokensInheritanceStrategy.RESET),
                "withOptimization: leave it out", () -> manager.builder().withOptimization(Optimizations.batching()),
                "withImplicitConfigurationReplacement: Stint takes the limit", () -> manager.asAsync().builder().withImplicitConfigurationReplacement(1, TokensInheritanceStrategy.RESET),
                "asVerbose: Stint shows no state of Bucket4j", () -> one.asVerbose().tryConsume(1),
                "tryConsumeAsMuchAsPossible: Stint takes a part of one limit only, and this bucket has 2", () -> bucket("two", TWO).tryConsumeAsMuchAsPossible());
        assertTrue(one.tryConsume(1)); // so that the configuration is known
        refused.forEach((sentence, call) -> {
            String message = assertThrows(UnsupportedOperationException.class, call).getMessage();
            assertTrue(message.startsWith(sentence), message);
        });
        Bandwidth interval = Bandwidth.builder().capacity(10).refillIntervally(10, Duration.ofMinutes(1)).build();
        Bandwidth empty = Bandwidth.builder().capacity(10).refillGreedy(10, Duration.ofMinutes(1)).initialTokens(0).build();
        Bandwidth fast = Bandwidth.builder().capacity(10).refillGreedy(10, Duration.ofNanos(1500)).build();
        Map.of(interval, "refillIntervally: ", empty, "initialTokens: a new bucket of Stint is full, got 0 of 10", fast, "period: must be whole milliseconds").forEach((bandwidth, sentence) -> {
            String message = assertThrows(InvalidException.class, () -> bucket("other", configuration(bandwidth)).tryConsume(1)).getMessage();
            assertTrue(message.startsWith(sentence), message);
        });
    }

    @Test
    void policyDecidesWhileStintIsGone() {
        server.setDown(true);
        assertTrue(bucket("k", ONE).tryConsume(1));
        assertEquals(0, bucket("k", ONE).tryConsumeAndReturnRemaining(1).getRemainingTokens());
    }
}
