package com.stintdb.bucket4j;

import io.github.bucket4j.BucketConfiguration;
import io.github.bucket4j.BucketListener;
import io.github.bucket4j.TokensInheritanceStrategy;
import io.github.bucket4j.distributed.AsyncBucketProxy;
import io.github.bucket4j.distributed.BucketProxy;
import io.github.bucket4j.distributed.proxy.AsyncProxyManager;
import io.github.bucket4j.distributed.proxy.RecoveryStrategy;
import io.github.bucket4j.distributed.proxy.RemoteAsyncBucketBuilder;
import io.github.bucket4j.distributed.proxy.RemoteBucketBuilder;
import io.github.bucket4j.distributed.proxy.optimization.Optimization;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;

/** Bucket4j's builders, without the settings that would change or merge commands later: those are refused at once. */
final class Builders {
    private static final String NO_OPTIMIZATION = "withOptimization: leave it out: each call is one command already";
    private static final String NO_REPLACEMENT =
            "withImplicitConfigurationReplacement: Stint takes the limit from each request: build the bucket again with the other configuration";

    private Builders() {}

    /** A builder of buckets. */
    record Blocking<K>(RemoteBucketBuilder<K> inner) implements RemoteBucketBuilder<K> {
        @Override
        public RemoteBucketBuilder<K> withRecoveryStrategy(RecoveryStrategy strategy) {
            return new Blocking<>(inner.withRecoveryStrategy(strategy));
        }

        @Override
        public RemoteBucketBuilder<K> withOptimization(Optimization optimization) {
            throw new UnsupportedOperationException(NO_OPTIMIZATION);
        }

        @Override
        public RemoteBucketBuilder<K> withImplicitConfigurationReplacement(long version, TokensInheritanceStrategy strategy) {
            throw new UnsupportedOperationException(NO_REPLACEMENT);
        }

        @Override
        public RemoteBucketBuilder<K> withListener(BucketListener listener) {
            return new Blocking<>(inner.withListener(listener));
        }

        @Override
        public BucketProxy build(K key, Supplier<BucketConfiguration> configuration) {
            return inner.build(key, configuration);
        }

        @Override
        @Deprecated // as by Bucket4j
        public BucketProxy build(K key, BucketConfiguration configuration) {
            return inner.build(key, configuration);
        }
    }

    /** A builder of buckets whose calls do not wait. */
    record Async<K>(RemoteAsyncBucketBuilder<K> inner) implements RemoteAsyncBucketBuilder<K> {
        @Override
        public RemoteAsyncBucketBuilder<K> withRecoveryStrategy(RecoveryStrategy strategy) {
            return new Async<>(inner.withRecoveryStrategy(strategy));
        }

        @Override
        public RemoteAsyncBucketBuilder<K> withOptimization(Optimization optimization) {
            throw new UnsupportedOperationException(NO_OPTIMIZATION);
        }

        @Override
        public RemoteAsyncBucketBuilder<K> withImplicitConfigurationReplacement(long version, TokensInheritanceStrategy strategy) {
            throw new UnsupportedOperationException(NO_REPLACEMENT);
        }

        @Override
        public RemoteAsyncBucketBuilder<K> withListener(BucketListener listener) {
            return new Async<>(inner.withListener(listener));
        }

        @Override
        @Deprecated // as by Bucket4j
        public AsyncBucketProxy build(K key, BucketConfiguration configuration) {
            return inner.build(key, configuration);
        }

        @Override
        public AsyncBucketProxy build(K key, Supplier<CompletableFuture<BucketConfiguration>> configuration) {
            return inner.build(key, configuration);
        }
    }

    /** A manager with these builders. */
    record Manager<K>(AsyncProxyManager<K> inner) implements AsyncProxyManager<K> {
        @Override
        public RemoteAsyncBucketBuilder<K> builder() {
            return new Async<>(inner.builder());
        }

        @Override
        public CompletableFuture<Void> removeProxy(K key) {
            return inner.removeProxy(key);
        }

        @Override
        public CompletableFuture<Optional<BucketConfiguration>> getProxyConfiguration(K key) {
            return inner.getProxyConfiguration(key);
        }
    }
}
