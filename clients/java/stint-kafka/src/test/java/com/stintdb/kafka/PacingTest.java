package com.stintdb.kafka;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.stintdb.client.InvalidException;
import com.stintdb.client.Limit;
import com.stintdb.client.Limiter;
import com.stintdb.client.Policy;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.MockConsumer;
import org.apache.kafka.clients.producer.MockProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.InterruptException;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.serialization.StringSerializer;
import org.junit.jupiter.api.Test;

/** Producers and consumers of Kafka's own mocks, with a server in memory. */
class PacingTest {
    private static final TopicPartition ONE = new TopicPartition("topic", 0);
    private static final TopicPartition TWO = new TopicPartition("topic", 1);
    private static final Limit LIMIT = Limit.perMinute(4);

    private final ManualServer server = new ManualServer();
    private final Limiter limiter = server.limiter(Policy.failOpen());
    private final MockProducer<String, String> sent = new MockProducer<>(true, null, new StringSerializer(), new StringSerializer());
    private final MockConsumer<String, String> received = new MockConsumer<>("earliest");
    private final Map<TopicPartition, Long> offsets = new HashMap<>(Map.of(ONE, 0L, TWO, 0L));

    private Pacing pacing(Limit limit) {
        return Pacing.of(limiter, "topic", limit);
    }

    private static ProducerRecord<String, String> record(String value) {
        return new ProducerRecord<>("topic", null, value);
    }

    private Consumer<String, String> consumer(Pacing pacing) {
        received.assign(List.of(ONE, TWO));
        received.updateBeginningOffsets(Map.of(ONE, 0L, TWO, 0L));
        return pacing.consumer(received);
    }

    private void add(TopicPartition partition, String... values) {
        for (String value : values) {
            long offset = offsets.merge(partition, 1L, Long::sum) - 1;
            received.addRecord(new ConsumerRecord<>(partition.topic(), partition.partition(), offset, 0, TimestampType.CREATE_TIME, 0, value.length(), null, value,
                    new RecordHeaders(), Optional.empty()));
        }
    }

    /** Polls without records until a request for one token would have to wait so long. */
    private void pollUntilWait(Consumer<String, String> consumer, Limit limit, Duration wait) {
        while (limiter.blocking().peek("topic", limit, 1).retryAfterMs() != wait.toMillis()) {
            assertEquals(0, poll(consumer));
        }
    }

    private static int poll(Consumer<String, String> consumer) {
        return consumer.poll(Duration.ZERO).count();
    }

    @Test
    void producersOfAllProcessesShareTheLimit() {
        Producer<String, String> one = pacing(LIMIT).maxWait(Duration.ZERO).producer(sent);
        Producer<String, String> other = pacing(LIMIT).maxWait(Duration.ZERO).producer(sent);
        one.send(record("a"));
        one.send(record("b"), (metadata, error) -> {});
        other.send(record("c"));
        other.send(record("d"));
        ThrottlingException error = assertThrows(ThrottlingException.class, () -> one.send(record("e")));
        assertEquals(Duration.ofSeconds(15), error.retryAfter());
        assertEquals("no tokens of \"topic\", TB 4 4/60000ms, within 0 ms: try again after 15000 ms, or wait longer by maxWait", error.getMessage());
        server.advance(Duration.ofSeconds(15));
        other.send(record("e"));
        assertEquals(5, sent.history().size());
        one.close();
        assertTrue(sent.closed());
    }

    @Test
    void producerWaitsForTokens() throws Exception {
        Producer<String, String> producer = pacing(Limit.perMinute(1)).producer(sent);
        producer.send(record("a"));
        CompletableFuture<?> second = CompletableFuture.runAsync(() -> producer.send(record("b")));
        Waiting.until(() -> { // until its tokens are reserved, and their time has come
            server.advance(Duration.ofSeconds(1));
            return second.isDone();
        });
        second.get();
        assertEquals(2, sent.history().size());
        assertThrows(ThrottlingException.class, () -> pacing(Limit.perHour(1)).maxWait(Duration.ofSeconds(1)).producer(sent).send(record("c")));
        Thread.currentThread().interrupt();
        assertThrows(InterruptException.class, () -> pacing(Limit.perHour(1)).maxWait(Duration.ofDays(1)).producer(sent).send(record("c")));
        assertTrue(Thread.interrupted());
    }

    @Test
    void producerCountsBytes() {
        Producer<String, String> producer = pacing(Limit.perMinute(10)).bytes().maxWait(Duration.ZERO).producer(sent);
        producer.send(new ProducerRecord<>("topic", "kö", "four"));
        assertThrows(ThrottlingException.class, () -> producer.send(record("four")));
        producer.send(record("end"));
        InvalidException error = assertThrows(InvalidException.class, () -> producer.send(record("eleven-----")));
        assertEquals("a record has 11 bytes, and the limit never more at once than 10: give it a larger capacity, such as Limit.perSecond(n).burst(11)", error.getMessage());
        Producer<Integer, String> other = pacing(LIMIT).bytes().producer(new MockProducer<>());
        error = assertThrows(InvalidException.class, () -> other.send(new ProducerRecord<>("topic", 7, "value")));
        assertEquals("bytes: counts byte[], String, ByteBuffer and Bytes, got java.lang.Integer; serialize it before, or count records", error.getMessage());
    }

    @Test
    void consumerIsPausedUntilTheTokensAreThere() {
        Consumer<String, String> consumer = consumer(pacing(LIMIT));
        add(ONE, "a", "b", "c", "d", "e", "f"); // two more than the limit has
        assertEquals(6, poll(consumer));
        add(ONE, "g");
        add(TWO, "h");
        pollUntilWait(consumer, LIMIT, Duration.ofSeconds(45)); // it has taken four tokens and reserved two
        assertEquals(Set.of(ONE, TWO), received.paused());
        assertEquals(Set.of(), consumer.paused());
        server.advance(Duration.ofSeconds(29));
        assertEquals(0, poll(consumer));
        server.advance(Duration.ofSeconds(1));
        while (!received.paused().isEmpty()) {
            assertEquals(0, poll(consumer));
        }
        assertEquals(2, poll(consumer));
    }

    @Test
    void programsOwnPausesAreKept() {
        Consumer<String, String> consumer = consumer(pacing(LIMIT));
        add(ONE, "a", "b", "c", "d");
        consumer.pause(List.of(TWO));
        assertEquals(4, poll(consumer));
        add(ONE, "e");
        while (poll(consumer) == 0) {
            assertTrue(consumer.paused().contains(TWO));
        }
        pollUntilWait(consumer, LIMIT, Duration.ofSeconds(30)); // reserved
        assertEquals(Set.of(TWO), consumer.paused());
        consumer.resume(List.of(TWO));
        consumer.pause(List.of(ONE));
        assertEquals(Set.of(ONE), consumer.paused());
        assertEquals(Set.of(ONE, TWO), received.paused());
        server.advance(Duration.ofMinutes(1));
        while (!received.paused().equals(Set.of(ONE))) {
            assertEquals(0, poll(consumer));
        }
    }

    @Test
    void wakeupAndCloseEndAWait() throws Exception {
        Limit limit = Limit.perHour(1);
        Consumer<String, String> consumer = consumer(pacing(limit));
        add(ONE, "a", "b");
        assertEquals(2, poll(consumer));
        pollUntilWait(consumer, limit, Duration.ofHours(2)); // reserved
        consumer.wakeup();
        assertThrows(WakeupException.class, () -> consumer.poll(Duration.ofHours(1)));
        consumer.close();
        assertTrue(received.closed());
        Waiting.until(() -> limiter.blocking().peek("topic", limit, 1).retryAfterMs() <= Duration.ofHours(1).toMillis()); // the reservation is given back
    }

    @Test
    void consumerCountsBytes() {
        Consumer<String, String> consumer = consumer(pacing(Limit.perMinute(6)).bytes());
        add(ONE, "two", "four", "");
        assertEquals(3, poll(consumer));
        pollUntilWait(consumer, Limit.perMinute(6), Duration.ofSeconds(30)); // two of eight bytes are reserved
    }

    @Test
    void policyDecidesWhileStintIsGone() {
        server.isDown = true;
        Consumer<String, String> consumer = consumer(pacing(LIMIT));
        add(ONE, "a", "b", "c", "d", "e", "f");
        assertEquals(6, poll(consumer));
        add(ONE, "g");
        while (poll(consumer) == 0) { // it pays in parts
            assertEquals(Set.of(), consumer.paused());
        }
        Pacing closed = Pacing.of(server.limiter(Policy.failClosed()), "topic", LIMIT);
        ThrottlingException error = assertThrows(ThrottlingException.class, () -> closed.maxWait(Duration.ofSeconds(1)).producer(sent).send(record("a")));
        assertTrue(String.valueOf(error.getCause()).contains("Stint does not answer"), String.valueOf(error.getCause()));
        Consumer<String, String> other = consumer(closed);
        add(TWO, "h");
        assertEquals(1, poll(other));
        add(TWO, "i");
        assertEquals(0, other.poll(Duration.ofMillis(50)).count());
        assertEquals(Set.of(ONE, TWO), received.paused());
    }

    @Test
    void badSettingsAreNamedWithTheRemedy() {
        InvalidException error = assertThrows(InvalidException.class, () -> pacing(LIMIT).maxWait(Duration.ofDays(2)));
        assertEquals("maxWait: must be whole milliseconds from 0 to a day, such as Duration.ofSeconds(5), got PT48H", error.getMessage());
        error = assertThrows(InvalidException.class, () -> pacing(Limit.gcra(4, 4, 60)));
        assertEquals("limit: a pace needs tokens to wait for, such as Limit.perSecond(10).burst(20), got CL 4 4 60", error.getMessage());
    }
}
