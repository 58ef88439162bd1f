package com.stintdb.kafka;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.stintdb.client.Limit;
import com.stintdb.client.Policy;
import com.stintdb.test.StintServer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.quota.ClientQuotaAlteration;
import org.apache.kafka.common.quota.ClientQuotaEntity;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A cluster of two brokers with the quota callback. */
class BrokersTest {
    private static final int QUOTA = 100_000; // bytes a second
    private static final int WINDOW_S = 2;

    @TempDir
    private static Path folder;

    private static StintServer stint;
    private static Brokers brokers;

    @BeforeAll
    static void start() throws Exception {
        stint = StintServer.start(Path.of(System.getenv("SERVER_BINARY")));
        brokers = new Brokers(folder, Map.of(
                "client.quota.callback.class", StintQuotaCallback.class.getName(),
                "stint.quota.addresses", stint.url(),
                "stint.quota.when.down", "fail-closed",
                "stint.quota.timeout.ms", "1000",
                "stint.quota.period.ms", "200",
                "quota.window.num", Integer.toString(WINDOW_S + 1)));
        try (Admin admin = brokers.admin()) {
            admin.createTopics(List.of(new NewTopic("one", Map.of(0, List.of(1))), new NewTopic("two", Map.of(0, List.of(2))))).all().get();
        }
    }

    @AfterAll
    static void stop() {
        brokers.close();
        stint.close();
    }

    /** Two producers of one client, each for a partition of another broker. Each broker alone would let the whole quota through. */
    @Test
    void quotaHoldsForBothBrokersTogether() throws Exception {
        try (Admin admin = brokers.admin()) {
            admin.alterClientQuotas(List.of(new ClientQuotaAlteration(new ClientQuotaEntity(Map.of(ClientQuotaEntity.CLIENT_ID, "load")),
                    List.of(new ClientQuotaAlteration.Op("producer_byte_rate", (double) QUOTA))))).all().get();
        }
        Map<String, Object> config = Map.of("bootstrap.servers", brokers.addresses(), "client.id", "load", "acks", "1", "batch.size", 0);
        List<AtomicLong> sent = List.of(new AtomicLong(), new AtomicLong());
        AtomicBoolean isOver = new AtomicBoolean();
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 2; i++) {
            String topic = i == 0 ? "one" : "two";
            AtomicLong bytes = sent.get(i);
            threads.add(new Thread(() -> {
                try (Producer<byte[], byte[]> producer = new KafkaProducer<>(config, new ByteArraySerializer(), new ByteArraySerializer())) {
                    while (!isOver.get()) {
                        producer.send(new ProducerRecord<>(topic, new byte[2000])).get();
                        bytes.addAndGet(2000);
                    }
                } catch (Exception e) {
                    isOver.set(true);
                }
            }));
        }
        threads.forEach(Thread::start);
        awaitBytes(sent, 4 * QUOTA, isOver); // what the windows and the bucket allow at first
        long begun = System.nanoTime();
        long before = total(sent);
        awaitBytes(sent, 11 * QUOTA, isOver);
        double seconds = (System.nanoTime() - begun) / 1e9;
        long total = total(sent) - before;
        boolean hasFailed = isOver.getAndSet(true);
        for (Thread thread : threads) {
            thread.join();
        }
        System.out.println(total + " bytes in " + seconds + " s, all: " + sent);
        assertFalse(hasFailed, "a producer failed");
        // More time allows more. Each broker for itself lets twice the quota through, in half of the time.
        assertTrue(total <= QUOTA * (seconds + WINDOW_S), total + " bytes in " + seconds + " s");
    }

    private static long total(List<AtomicLong> sent) {
        return sent.stream().mapToLong(AtomicLong::get).sum();
    }

    private static void awaitBytes(List<AtomicLong> sent, long bytes, AtomicBoolean isOver) throws Exception {
        Waiting.until(() -> total(sent) >= bytes || isOver.get());
    }

    /** A consumer that waits longer for tokens than its group allows between two polls. */
    @Test
    void consumerStaysInItsGroupWhileItWaits() throws Exception {
        ManualServer server = new ManualServer();
        Map<String, Object> config = Map.of("bootstrap.servers", brokers.addresses(), "group.id", "group", "auto.offset.reset", "earliest", "max.poll.records", 5,
                "max.poll.interval.ms", 1500, "session.timeout.ms", 6000);
        try (Admin admin = brokers.admin();
                Producer<String, String> producer = new KafkaProducer<>(Map.of("bootstrap.servers", brokers.addresses()), new StringSerializer(), new StringSerializer());
                Consumer<String, String> consumer = Pacing.of(server.limiter(Policy.failClosed()), "group", Limit.perMinute(5))
                        .consumer(new KafkaConsumer<>(config, new StringDeserializer(), new StringDeserializer()))) {
            admin.createTopics(List.of(new NewTopic("paced", Map.of(0, List.of(1), 1, List.of(2))))).all().get();
            for (int i = 0; i < 20; i++) {
                producer.send(new ProducerRecord<>("paced", i % 2, "key", "value")).get();
            }
            AtomicLong assigned = new AtomicLong();
            AtomicLong lost = new AtomicLong();
            consumer.subscribe(List.of("paced"), new ConsumerRebalanceListener() {
                @Override
                public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
                    assigned.addAndGet(partitions.size());
                }

                @Override
                public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
                    lost.addAndGet(partitions.size());
                }
            });
            int received = 0;
            while (received < 10) { // five at once, and five more before the tokens of the first are owed
                received += consumer.poll(Duration.ofMillis(100)).count();
            }
            for (int i = 0; i < 25; i++) { // longer than max.poll.interval.ms
                assertEquals(0, consumer.poll(Duration.ofMillis(100)).count());
            }
            consumer.commitSync(); // which fails outside of the group
            server.advance(Duration.ofMinutes(1));
            while (received < 15) {
                received += consumer.poll(Duration.ofMillis(100)).count();
            }
            assertEquals(15, received);
            assertEquals(2, assigned.get());
            assertEquals(0, lost.get());
        }
    }
}
