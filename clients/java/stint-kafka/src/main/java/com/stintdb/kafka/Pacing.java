package com.stintdb.kafka;

import com.stintdb.client.Algorithm;
import com.stintdb.client.InvalidException;
import com.stintdb.client.Limit;
import com.stintdb.client.Limiter;
import java.time.Duration;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.producer.Producer;

/**
 * A pace that the producers and consumers of all processes share, in records or in bytes. It never changes: each method returns another. While Stint does not
 * answer, the policy of the limiter decides.
 *
 * <pre>{@code
 * Pacing pacing = Pacing.of(limiter, "orders", Limit.perSecond(1000));
 * Consumer<String, String> consumer = pacing.consumer(new KafkaConsumer<>(properties));
 * }</pre>
 */
public final class Pacing {
    private static final Duration LONGEST_WAIT = Duration.ofDays(1);

    final Limiter limiter;
    final String key;
    final Limit limit;
    final boolean isBytes;
    final Duration maxWait;

    private Pacing(Limiter limiter, String key, Limit limit, boolean isBytes, Duration maxWait) {
        this.limiter = limiter;
        this.key = key;
        this.limit = limit;
        this.isBytes = isBytes;
        this.maxWait = maxWait;
    }

    /**
     * A pace in records, whose producers wait for a minute at most.
     *
     * @param limiter that asks Stint; it is not closed
     * @param key of the limit; other producers and consumers with it share the limit
     * @param limit of any algorithm but CC.ACQUIRE, whose places are not tokens, and CL.THROTTLE, which cannot be looked at
     */
    public static Pacing of(Limiter limiter, String key, Limit limit) {
        if (limit.algorithm() == Algorithm.CONCURRENCY || limit.algorithm() == Algorithm.GCRA) {
            throw new InvalidException("limit: a pace needs tokens to wait for, such as Limit.perSecond(10).burst(20), got " + limit);
        }
        return new Pacing(limiter, key, limit, false, Duration.ofMinutes(1));
    }

    /** The same pace in bytes of serialized keys and values, without headers and the protocol. A record counts as one byte at least. */
    public Pacing bytes() {
        return new Pacing(limiter, key, limit, true, maxWait);
    }

    /**
     * The same pace, whose producers wait so long for the tokens of a record and throw {@link ThrottlingException} otherwise. With zero they never wait. It throws
     * {@link InvalidException} for a time below zero, above a day, or not in whole milliseconds.
     */
    public Pacing maxWait(Duration atMost) {
        if (atMost.isNegative() || atMost.compareTo(LONGEST_WAIT) > 0 || atMost.toNanosPart() % 1_000_000 != 0) {
            throw new InvalidException("maxWait: must be whole milliseconds from 0 to a day, such as Duration.ofSeconds(5), got " + atMost);
        }
        return new Pacing(limiter, key, limit, isBytes, atMost);
    }

    /**
     * A producer whose {@code send} takes the tokens of a record before it hands it on. It waits for them up to {@link #maxWait}, and then throws
     * {@link ThrottlingException}; it throws {@link InvalidException} for a record that is larger than the limit's capacity, or whose bytes are not known: they are
     * for keys and values of the types {@code byte[]}, {@code String} in UTF-8, {@code ByteBuffer} and {@code Bytes}. An interrupted wait throws Kafka's
     * {@code InterruptException}. Tokens of many records are taken at once, as {@link Limiter#lease} does, and unused ones go back. Closing it closes the given one.
     */
    public <K, V> Producer<K, V> producer(Producer<K, V> producer) {
        return new PacedProducer<>(this, producer).proxy();
    }

    /**
     * A consumer whose {@code poll} hands out records at this pace. The tokens of records are taken when they are handed out; until they are there, the partitions
     * are paused, and {@code poll} goes on without records: it returns in its usual time, so the consumer stays in its group. One poll may be more than the limit has at
     * once: then the next ones wait longer. Partitions that the program pauses itself stay paused. Closing it closes the given one.
     */
    public <K, V> Consumer<K, V> consumer(Consumer<K, V> consumer) {
        return new PacedConsumer<>(this, consumer).proxy();
    }
}
