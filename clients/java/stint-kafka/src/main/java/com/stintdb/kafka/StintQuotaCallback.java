package com.stintdb.kafka;

import java.util.EnumMap;
import java.util.Map;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.server.quota.ClientQuotaCallback;
import org.apache.kafka.server.quota.ClientQuotaEntity;
import org.apache.kafka.server.quota.ClientQuotaType;
import org.jspecify.annotations.Nullable;

/**
 * Makes quotas of bytes a second hold for all brokers of a cluster together. {@code client.quota.callback.class} in server.properties names it; quotas are
 * set by kafka-configs.sh as before, with the same precedence. Quotas of requests and of controllers stay those of each broker.
 *
 * <p>Each broker borrows its share of a quota from Stint, by RL.LEND, and renews it each period. It has its equal part of the quota until the first answer. While
 * Stint does not answer, {@code stint.quota.when.down} decides: fail-open, fail-closed or local-share. A wrong setting throws Kafka's {@code ConfigException}.
 */
public final class StintQuotaCallback implements ClientQuotaCallback {
    private static final System.Logger LOG = System.getLogger("com.stintdb.kafka");

    private final Map<ClientQuotaType, Quotas> quotas = new EnumMap<>(ClientQuotaType.class);
    private final ScheduledExecutorService thread = Executors.newSingleThreadScheduledExecutor(task -> {
        Thread made = new Thread(task, "stint-quotas");
        made.setDaemon(true);
        return made;
    });
    private volatile @Nullable Shares shares;
    private long tickedAt = System.nanoTime(); // of the thread

    /** A callback that Kafka configures. */
    public StintQuotaCallback() {
        for (ClientQuotaType type : ClientQuotaType.values()) {
            quotas.put(type, new Quotas());
        }
    }

    /** A callback whose periods the caller ends. */
    StintQuotaCallback(Shares shares) {
        this();
        this.shares = shares;
    }

    @Override
    public void configure(Map<String, ?> configs) {
        QuotaSettings settings = new QuotaSettings(configs);
        Shares made = new Shares(settings, settings.connect(), BrokerRates::of);
        shares = made;
        thread.scheduleWithFixedDelay(() -> {
            long now = System.nanoTime();
            try {
                made.endPeriod((now - tickedAt) / 1e9);
            } catch (RuntimeException e) { // otherwise no period would end any more
                LOG.log(System.Logger.Level.ERROR, "shares of quotas were not renewed, please report it", e);
            }
            tickedAt = now;
        }, settings.periodMs, settings.periodMs, TimeUnit.MILLISECONDS);
    }

    private Shares shares() {
        Shares made = shares;
        if (made == null) {
            throw new IllegalStateException("configure must be called before");
        }
        return made;
    }

    private Quotas of(ClientQuotaType type) {
        return quotas.computeIfAbsent(type, missing -> new Quotas());
    }

    @Override
    public Map<String, String> quotaMetricTags(ClientQuotaType type, KafkaPrincipal principal, String clientId) {
        Map<String, String> tags = of(type).tags(Quotas.sanitized(principal.getName()), clientId);
        shares().use(type, tags);
        return tags;
    }

    @Override
    public @Nullable Double quotaLimit(ClientQuotaType type, Map<String, String> tags) {
        Double quota = of(type).quota(tags);
        if (quota == null) {
            return null;
        }
        Double bound = shares().bound(type, tags, quota);
        return bound == null ? quota : bound;
    }

    @Override
    public void updateQuota(ClientQuotaType type, ClientQuotaEntity entity, double quota) {
        of(type).put(entity, quota);
    }

    @Override
    public void removeQuota(ClientQuotaType type, ClientQuotaEntity entity) {
        of(type).remove(entity);
    }

    @Override
    public boolean quotaResetRequired(ClientQuotaType type) {
        return shares().takeChange(type);
    }

    @Override
    public boolean updateClusterMetadata(Cluster cluster) {
        shares().setBrokers(cluster.nodes().size());
        return false; // bounds change with the next period
    }

    @Override
    public void close() {
        thread.shutdownNow();
        Shares made = shares;
        if (made != null) {
            made.close();
        }
    }
}
