package com.stintdb.kafka;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.jspecify.annotations.Nullable;

/** Clients with one quota, each of one topic, which send or receive as much as a broker lets through. They end with {@link #close}. */
final class ClusterLoad implements AutoCloseable {
    static final int RECORD_BYTES = 2000;

    private interface Client {
        void run(String topic, AtomicLong bytes) throws Exception;
    }

    /** A number of bytes at a time. */
    private record Sample(long nanoTime, long bytes) {}

    private final String addresses;
    private final List<AtomicLong> bytes = new ArrayList<>();
    private final List<Thread> threads = new ArrayList<>();
    private volatile boolean isOver;
    private volatile @Nullable Exception failure;

    private ClusterLoad(String addresses) {
        this.addresses = addresses;
    }

    static ClusterLoad producers(Brokers brokers, String client, String... topics) {
        ClusterLoad load = new ClusterLoad(brokers.addresses());
        load.start((topic, bytes) -> load.produce(client, topic, bytes), topics);
        return load;
    }

    /** The consumers read their topics again and again. */
    static ClusterLoad consumers(Brokers brokers, String client, String... topics) {
        ClusterLoad load = new ClusterLoad(brokers.addresses());
        load.start((topic, bytes) -> load.consume(client, topic, bytes), topics);
        return load;
    }

    private void start(Client client, String... topics) {
        for (String topic : topics) {
            AtomicLong count = new AtomicLong();
            bytes.add(count);
            threads.add(new Thread(() -> {
                try {
                    client.run(topic, count);
                } catch (Exception e) {
                    failure = e;
                }
            }, topic));
        }
        threads.forEach(Thread::start);
    }

    private void produce(String client, String topic, AtomicLong bytes) throws Exception {
        Map<String, Object> config = Map.of("bootstrap.servers", addresses, "client.id", client, "acks", "1", "batch.size", 0,
                "delivery.timeout.ms", Integer.MAX_VALUE); // the test decides how long it waits for a broker that is gone
        Producer<byte[], byte[]> producer = new KafkaProducer<>(config, new ByteArraySerializer(), new ByteArraySerializer());
        try {
            while (!isOver) {
                producer.send(new ProducerRecord<>(topic, new byte[RECORD_BYTES])).get();
                bytes.addAndGet(RECORD_BYTES);
            }
        } catch (InterruptedException | org.apache.kafka.common.errors.InterruptException e) {
            if (!isOver) {
                throw e;
            }
        } finally {
            producer.close(Duration.ZERO); // it would wait two minutes for a broker that is gone
        }
    }

    private void consume(String client, String topic, AtomicLong bytes) {
        Map<String, Object> config = Map.of("bootstrap.servers", addresses, "client.id", client, "fetch.max.bytes", 5 * RECORD_BYTES,
                "max.partition.fetch.bytes", 5 * RECORD_BYTES, "enable.auto.commit", "false", "auto.offset.reset", "earliest");
        List<TopicPartition> partitions = List.of(new TopicPartition(topic, 0));
        try (Consumer<byte[], byte[]> consumer = new KafkaConsumer<>(config, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            consumer.assign(partitions);
            long end = consumer.endOffsets(partitions).get(partitions.get(0));
            while (!isOver) {
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(100))) {
                    bytes.addAndGet(record.serializedValueSize());
                    if (record.offset() == end - 1) {
                        consumer.seekToBeginning(partitions);
                    }
                }
            }
        }
    }

    long total() {
        return bytes.stream().mapToLong(AtomicLong::get).sum();
    }

    /** Waits until all clients together have so many bytes. */
    void awaitTotal(long least) throws Exception {
        Waiting.until(() -> total() >= least || hasFailed());
    }

    /** Waits for a span of so many seconds in which one client has so many bytes. */
    void awaitSpan(int client, int seconds, long least) throws Exception {
        Deque<Sample> samples = new ArrayDeque<>();
        Waiting.until(() -> {
            Sample now = new Sample(System.nanoTime(), bytes.get(client).get());
            samples.add(now);
            while (now.nanoTime - samples.getFirst().nanoTime > TimeUnit.SECONDS.toNanos(seconds)) {
                samples.removeFirst();
            }
            return now.bytes - samples.getFirst().bytes >= least || hasFailed();
        });
    }

    private boolean hasFailed() {
        Exception cause = failure;
        if (cause != null) {
            throw new IllegalStateException("a client failed", cause);
        }
        return false;
    }

    @Override
    public void close() throws InterruptedException {
        isOver = true;
        for (Thread thread : threads) {
            thread.interrupt(); // one may wait for a broker that is gone
            thread.join();
        }
    }

    @Override
    public String toString() {
        return bytes.toString();
    }
}
