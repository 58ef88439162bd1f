package com.stintdb.kafka;

import com.stintdb.client.DeniedException;
import java.lang.reflect.Method;
import java.time.Duration;
import java.util.Collection;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.InterruptException;
import org.jspecify.annotations.Nullable;

/**
 * A consumer that pauses its partitions while the tokens of the records that it handed out are not there. Records are handed out before their tokens are taken
 * because nobody knows their number before: to hold them back would commit offsets of records that the program has never seen.
 */
final class PacedConsumer<K, V> extends Forwarder<Consumer<K, V>> {
    private static final long TURN_MS = 100; // between two looks at the group and at wakeup()
    private static final Duration LONGEST_WAIT = Duration.ofHours(1); // of a reservation; after it, it is made again
    private static final long PAUSE_MS = 1000; // after a denial

    private final Pacing pacing;
    private long owed; // tokens of records that were handed out
    private @Nullable Set<TopicPartition> pausedByProgram; // while partitions are paused here; null otherwise
    private @Nullable CompletableFuture<?> payment; // of the next part of the tokens
    private long part;

    PacedConsumer(Pacing pacing, Consumer<K, V> inner) {
        super(Consumer.class, inner);
        this.pacing = pacing;
    }

    @Override
    @SuppressWarnings("unchecked") // the arguments have the types of the method
    public @Nullable Object invoke(Object proxy, Method method, Object @Nullable [] arguments) throws Throwable {
        String name = method.getName();
        if (name.equals("poll") && arguments != null && arguments[0] instanceof Duration timeout) {
            return poll(timeout);
        }
        if (name.equals("close") && payment != null) {
            payment.cancel(false); // a reservation goes back
        }
        if (pausedByProgram != null && arguments != null && name.equals("pause")) {
            pausedByProgram.addAll((Collection<TopicPartition>) arguments[0]);
        } else if (pausedByProgram != null && arguments != null && name.equals("resume")) {
            pausedByProgram.removeAll((Collection<TopicPartition>) arguments[0]);
            return null; // they go on when the tokens are there
        } else if (pausedByProgram != null && name.equals("paused")) {
            return Set.copyOf(pausedByProgram);
        }
        return forward(method, arguments);
    }

    private ConsumerRecords<K, V> poll(Duration timeout) {
        long deadline = System.nanoTime() + timeout.toNanos();
        while (true) {
            long leftMs = Math.max(0, TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime()));
            ConsumerRecords<K, V> records;
            if (owed == 0) {
                records = inner.poll(Duration.ofMillis(leftMs));
            } else {
                pause();
                records = inner.poll(Duration.ZERO); // takes part in the group, and hears of wakeup()
                pay(Math.min(leftMs, TURN_MS));
            }
            if (!records.isEmpty()) {
                charge(records);
                return records;
            }
            if (leftMs == 0) {
                return records;
            }
        }
    }

    private void charge(ConsumerRecords<K, V> records) {
        if (!pacing.isBytes) {
            owed += records.count();
            return;
        }
        for (ConsumerRecord<K, V> each : records) {
            owed += Size.of(each);
        }
    }

    /** Pauses all partitions, also those that were assigned since the last turn. */
    private void pause() {
        if (pausedByProgram == null) {
            pausedByProgram = new HashSet<>(inner.paused());
        }
        inner.pause(inner.assignment());
    }

    /** Waits for tokens, at most so long. When all are there, the partitions go on. */
    private void pay(long ms) {
        if (payment == null) {
            part = Math.min(owed, pacing.limit.capacity());
            payment = pacing.limiter.await(pacing.key, pacing.limit, part, LONGEST_WAIT);
        }
        try {
            payment.get(ms, TimeUnit.MILLISECONDS);
            payment = null;
            owed -= part;
        } catch (TimeoutException e) {
            return;
        } catch (InterruptedException e) {
            throw new InterruptException(e);
        } catch (ExecutionException e) {
            payment = null;
            if (!(e.getCause() instanceof DeniedException)) {
                throw e.getCause() instanceof RuntimeException cause ? cause : new KafkaException(e);
            }
            part = 0; // the fallback denies, or others have reserved more than an hour: it is tried again
            payment = new CompletableFuture<@Nullable Void>().completeOnTimeout(null, PAUSE_MS, TimeUnit.MILLISECONDS);
        }
        if (owed == 0 && pausedByProgram != null) {
            Set<TopicPartition> goOn = new HashSet<>(inner.assignment());
            goOn.removeAll(pausedByProgram);
            pausedByProgram = null;
            inner.resume(goOn);
        }
    }
}
