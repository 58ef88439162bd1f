package com.stintdb.kafka;

import com.stintdb.client.Limiter;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.ToDoubleBiFunction;
import org.apache.kafka.server.quota.ClientQuotaType;
import org.jspecify.annotations.Nullable;

/** The shares of this broker of all quotas in use. */
final class Shares implements AutoCloseable {
    private static final int MOST = 10_000; // of a type; other clients have this broker's equal part of their quota
    private static final long FORGET_AFTER_MS = 60_000; // without use
    private static final int CLOSE_MS = 1000;

    /** Those of one type, by the tags of the metric. */
    private static final class Kind {
        final Map<Map<String, String>, Share> shares = new ConcurrentHashMap<>();
        final AtomicBoolean isChanged = new AtomicBoolean();
    }

    private final QuotaSettings settings;
    private final Limiter limiter;
    private final ToDoubleBiFunction<ClientQuotaType, Map<String, String>> rates;
    private final Map<ClientQuotaType, Kind> kinds = new EnumMap<>(ClientQuotaType.class);
    private volatile int brokers = 1;

    /** Shares of the quotas of bytes. The function tells this broker's rates, NaN for one that is not known. */
    Shares(QuotaSettings settings, Limiter limiter, ToDoubleBiFunction<ClientQuotaType, Map<String, String>> rates) {
        this.settings = settings;
        this.limiter = limiter;
        this.rates = rates;
        kinds.put(ClientQuotaType.PRODUCE, new Kind());
        kinds.put(ClientQuotaType.FETCH, new Kind());
    }

    void setBrokers(int brokers) {
        this.brokers = Math.max(1, brokers);
    }

    /** A client with these tags sent a request. */
    void use(ClientQuotaType type, Map<String, String> tags) {
        Kind kind = kinds.get(type);
        Share share = kind == null ? null : kind.shares.get(tags);
        if (share != null) {
            share.use();
        }
    }

    /** The bound of this broker for a quota; null for a type that each broker has for itself. */
    @Nullable Double bound(ClientQuotaType type, Map<String, String> tags, double quota) {
        Kind kind = kinds.get(type);
        if (kind == null) {
            return null;
        }
        Share share = kind.shares.get(tags);
        if (share == null || share.quota() != quota) {
            if (share == null && kind.shares.size() >= MOST) {
                return quota / brokers;
            }
            share = kind.shares.compute(Map.copyOf(tags), (same, old) -> {
                if (old != null) {
                    old.end();
                }
                return new Share(limiter, key(type, quota, tags), quota, settings, brokers);
            });
        }
        return share.bound();
    }

    /** The key has the quota in it, so that another quota is another limit: the brokers do not hear of it at the same moment. */
    private String key(ClientQuotaType type, double quota, Map<String, String> tags) {
        return String.join(":", settings.prefix, type.name().toLowerCase(Locale.ROOT), Long.toString((long) quota), tags.get(Quotas.USER), tags.get(Quotas.CLIENT_ID));
    }

    /** Whether bounds of a type have changed since the last call. */
    boolean takeChange(ClientQuotaType type) {
        Kind kind = kinds.get(type);
        return kind != null && kind.isChanged.get() && kind.isChanged.getAndSet(false);
    }

    /** Ends a period of so many seconds. The stage ends with the answers of Stint. */
    CompletionStage<?> endPeriod(double seconds) {
        List<CompletableFuture<?>> answers = new ArrayList<>();
        kinds.forEach((type, kind) -> kind.shares.forEach((tags, share) -> {
            double rate = rates.applyAsDouble(type, tags);
            answers.add(share.endPeriod(Double.isNaN(rate) ? share.bound() : rate, seconds, brokers, settings.whenDown).thenAccept(isChanged -> {
                if (isChanged) {
                    kind.isChanged.set(true);
                }
            }).toCompletableFuture());
            if (share.quiet() * settings.periodMs > FORGET_AFTER_MS) {
                kind.shares.remove(tags, share);
            }
        }));
        return CompletableFuture.allOf(answers.toArray(CompletableFuture<?>[]::new));
    }

    /** Gives everything back, within a second. */
    @Override
    public void close() {
        List<CompletableFuture<?>> ends = new ArrayList<>();
        kinds.values().forEach(kind -> kind.shares.values().forEach(share -> ends.add(share.end().toCompletableFuture())));
        CompletableFuture.allOf(ends.toArray(CompletableFuture<?>[]::new))
                .handle((nothing, error) -> nothing)
                .completeOnTimeout(null, CLOSE_MS, TimeUnit.MILLISECONDS)
                .join();
        limiter.close();
    }
}
