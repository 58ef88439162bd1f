package com.stintdb.kafka;

import static org.junit.jupiter.api.Assertions.assertTrue;

import com.stintdb.client.Limiter;
import com.stintdb.client.Policy;
import java.net.InetAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.apache.kafka.common.internals.Plugin;
import org.apache.kafka.common.metrics.KafkaMetric;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.metrics.Quota;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.network.Session;
import org.apache.kafka.server.config.ClientQuotaManagerConfig;
import org.apache.kafka.server.quota.ClientQuotaManager;
import org.apache.kafka.server.quota.QuotaType;

/** Quota managers of brokers, which are Kafka's own, each with a client that produces, by a clock of the test. */
final class SimulatedCluster implements AutoCloseable {
    static final int QUOTA = 100_000;
    private static final int REQUEST_BYTES = 2_000;
    private static final int STEP_MS = 20;
    private static final int PERIOD_MS = 1000; // the setting

    private static final int BUCKET_S = 10; // the tokens that a quota has at first
    private static final int WINDOW_S = 10; // over which Kafka measures rates

    /** A broker, and the client that sends requests to it. */
    static final class Broker {
        private final Metrics metrics;
        private final ClientQuotaManager manager;
        private final Shares shares;
        private double ready; // bytes that the client would send
        private long mutedUntil;
        double wanted; // bytes a second
        long bytes; // that the broker has let through

        private Broker(Metrics metrics, ClientQuotaManager manager, Shares shares) {
            this.metrics = metrics;
            this.manager = manager;
            this.shares = shares;
        }
    }

    private final Session session;
    private final SimulatedTime time = new SimulatedTime();
    final FakeLoans stint = new FakeLoans(() -> time.now);
    private final Limiter limiter = Limiter.builder(Policy.failClosed(), stint).timeout(Duration.ofSeconds(30)).breaker(1000, Duration.ofMillis(1)).build();
    final List<Broker> brokers = new ArrayList<>();

    int lateMs; // that a period takes longer

    private long since = time.now;
    private long allowed; // bytes before that

    private static final class SimulatedTime implements Time {
        long now = TimeUnit.DAYS.toMillis(1);

        @Override
        public long milliseconds() {
            return now;
        }

        @Override
        public long nanoseconds() {
            return TimeUnit.MILLISECONDS.toNanos(now);
        }

        @Override
        public void sleep(long ms) {
            throw new UnsupportedOperationException();
        }

        @Override
        public void waitObject(Object object, Supplier<Boolean> condition, long deadlineMs) {
            throw new UnsupportedOperationException();
        }
    }

    SimulatedCluster(int size, String whenDown) throws Exception {
        session = new Session(new KafkaPrincipal(KafkaPrincipal.USER_TYPE, "alice"), InetAddress.getLoopbackAddress());
        for (int i = 0; i < size; i++) {
            Metrics metrics = new Metrics(time);
            Shares shares = new Shares(new QuotaSettings(Map.of("stint.quota.when.down", whenDown)), limiter, (type, tags) -> rate(metrics, tags));
            shares.setBrokers(size);
            ClientQuotaManager manager = new ClientQuotaManager(new ClientQuotaManagerConfig(), metrics, QuotaType.PRODUCE, time, "broker" + i,
                    Optional.of(Plugin.wrapInstance(new StintQuotaCallback(shares), metrics, "client.quota.callback.class")));
            manager.updateQuota(Optional.of(new ClientQuotaManager.UserEntity("alice")), Optional.empty(), Optional.of(Quota.upperBound(QUOTA)));
            brokers.add(new Broker(metrics, manager, shares));
        }
    }

    private static double rate(Metrics metrics, Map<String, String> tags) {
        KafkaMetric metric = metrics.metric(metrics.metricName("byte-rate", "Produce", tags));
        return metric == null ? Double.NaN : (double) metric.metricValue();
    }

    /** What each client would send, in parts of the quota. */
    void want(double... parts) {
        for (int i = 0; i < parts.length; i++) {
            brokers.get(i).wanted = parts[i] * QUOTA;
        }
    }

    /** Lets time pass, and returns what each broker let through, in parts of the quota. */
    double[] run(int seconds) {
        long[] before = brokers.stream().mapToLong(broker -> broker.bytes).toArray();
        for (long end = time.now + 1000L * seconds; time.now < end; time.now += STEP_MS) {
            stint.answer();
            for (int i = 0; i < brokers.size(); i++) {
                Broker broker = brokers.get(i);
                send(broker);
                if ((time.now + 140L * i) % (PERIOD_MS + lateMs) == 0) {
                    broker.shares.endPeriod((PERIOD_MS + lateMs) / 1000.0);
                }
            }
        }
        if (!stint.isDown) {
            double most = (double) QUOTA * (time.now - since) / 1000 + QUOTA * (BUCKET_S + WINDOW_S);
            long total = brokers.stream().mapToLong(broker -> broker.bytes).sum() - allowed;
            assertTrue(total <= most, total + " bytes, and at most " + most);
        } else { // the fallback decides
            since = time.now;
            allowed = brokers.stream().mapToLong(broker -> broker.bytes).sum();
        }
        double[] parts = new double[before.length];
        for (int i = 0; i < parts.length; i++) {
            parts[i] = (double) (brokers.get(i).bytes - before[i]) / QUOTA / seconds;
        }
        return parts;
    }

    private void send(Broker broker) {
        broker.ready = Math.min(broker.ready + broker.wanted * STEP_MS / 1000, QUOTA);
        while (broker.ready >= REQUEST_BYTES && time.now >= broker.mutedUntil) {
            broker.ready -= REQUEST_BYTES;
            broker.bytes += REQUEST_BYTES;
            broker.mutedUntil = time.now + broker.manager.maybeRecordAndGetThrottleTimeMs(session, "app", REQUEST_BYTES, time.now);
        }
    }

    @Override
    public void close() {
        brokers.forEach(broker -> broker.manager.shutdown());
        limiter.close();
    }
}
