package com.stintdb.bucket4j;

import com.stintdb.client.Limiter;
import io.github.bucket4j.BucketConfiguration;
import io.github.bucket4j.distributed.proxy.AbstractProxyManager;
import io.github.bucket4j.distributed.proxy.AsyncProxyManager;
import io.github.bucket4j.distributed.proxy.ClientSideConfig;
import io.github.bucket4j.distributed.proxy.RemoteBucketBuilder;
import io.github.bucket4j.distributed.remote.CommandResult;
import io.github.bucket4j.distributed.remote.RemoteCommand;
import io.github.bucket4j.distributed.remote.Request;
import io.github.bucket4j.distributed.remote.commands.CreateInitialStateAndExecuteCommand;
import io.github.bucket4j.distributed.remote.commands.GetConfigurationCommand;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Buckets of Bucket4j whose commands Stint carries out: one command for each call, without compare-and-set in the client, so processes do not repeat calls
 * about a contended bucket. A bucket with several bandwidths takes from all of them at one instant, or from none (RL.ALL).
 *
 * <p>Stint takes the limit from each request, so a configuration is kept in this process only, for the last 10,000 buckets; after that, Bucket4j asks for it
 * again. While Stint does not answer, the policy of the limiter decides. Times are in whole milliseconds, rounded up, and available tokens are never below
 * zero.
 *
 * <p>Refused with an exception, because Stint has nothing of the same meaning: intervals, buckets that are not full at first, configurations that are replaced,
 * {@code consumeIgnoringRateLimits}, {@code forceAddTokens}, {@code tryConsumeAsMuchAsPossible} of several bandwidths, verbose calls, optimizations, and clocks
 * of the client.
 *
 * @param <K> the type of keys
 */
public final class StintProxyManager<K> extends AbstractProxyManager<K> {
    private static final int MOST_CONFIGURATIONS = 10_000;

    private final Limiter limiter;
    private final Function<? super K, String> name;
    private final Map<String, Bandwidths> known = new LinkedHashMap<>(16, 0.75f, true) { // guarded by itself
        private static final long serialVersionUID = 1;

        @Override
        protected boolean removeEldestEntry(Map.Entry<String, Bandwidths> eldest) {
            return size() > MOST_CONFIGURATIONS;
        }
    };

    /**
     * Buckets with other keys than texts.
     *
     * @param limiter that asks Stint
     * @param name the text of a key, which is the key at Stint
     */
    public StintProxyManager(Limiter limiter, Function<? super K, String> name) {
        super(ClientSideConfig.getDefault());
        this.limiter = limiter;
        this.name = name;
    }

    /** Buckets whose keys are texts. */
    public static StintProxyManager<String> of(Limiter limiter) {
        return new StintProxyManager<>(limiter, Function.identity());
    }

    @Override
    public RemoteBucketBuilder<K> builder() {
        return new Builders.Blocking<>(super.builder());
    }

    @Override
    public AsyncProxyManager<K> asAsync() {
        return new Builders.Manager<>(super.asAsync());
    }

    @Override
    protected <T> CommandResult<T> execute(K key, Request<T> request) {
        try {
            return executeAsync(key, request).join();
        } catch (CompletionException e) {
            if (e.getCause() instanceof RuntimeException cause) {
                cause.fillInStackTrace();
                throw cause;
            }
            throw e;
        }
    }

    @Override
    protected <T> CompletableFuture<CommandResult<T>> executeAsync(K key, Request<T> request) {
        try {
            @SuppressWarnings("unchecked") // the result of a command is of its type
            CompletableFuture<CommandResult<T>> result = (CompletableFuture<CommandResult<T>>) (CompletableFuture<?>) carryOut(name.apply(key), request.getCommand());
            return result;
        } catch (RuntimeException e) {
            return CompletableFuture.failedFuture(e);
        }
    }

    private CompletableFuture<? extends CommandResult<?>> carryOut(String key, RemoteCommand<?> command) {
        if (command instanceof CreateInitialStateAndExecuteCommand<?> create) {
            return new Commands(limiter, remember(key, create.getConfiguration())).carryOut(create.getTargetCommand());
        }
        Bandwidths bandwidths;
        synchronized (known) {
            bandwidths = known.get(key);
        }
        if (bandwidths == null) { // Bucket4j sends the configuration then
            return CompletableFuture.completedFuture(CommandResult.bucketNotFound());
        }
        if (command instanceof GetConfigurationCommand) {
            return CompletableFuture.completedFuture(CommandResult.success(bandwidths.configuration(), BucketConfiguration.SERIALIZATION_HANDLE));
        }
        return new Commands(limiter, bandwidths).carryOut(command);
    }

    private Bandwidths remember(String key, BucketConfiguration configuration) {
        Bandwidths made = Bandwidths.of(key, configuration);
        synchronized (known) {
            @Nullable Bandwidths before = known.putIfAbsent(key, made);
            return before == null ? made : before;
        }
    }

    /** Resets the bucket, and forgets its configuration. */
    @Override
    public void removeProxy(K key) {
        removeAsync(key).join();
    }

    @Override
    protected CompletableFuture<Void> removeAsync(K key) {
        Bandwidths bandwidths;
        synchronized (known) {
            bandwidths = known.remove(name.apply(key));
        }
        return bandwidths == null ? CompletableFuture.completedFuture(null) : new Commands(limiter, bandwidths).reset();
    }

    @Override
    public boolean isAsyncModeSupported() {
        return true;
    }
}
