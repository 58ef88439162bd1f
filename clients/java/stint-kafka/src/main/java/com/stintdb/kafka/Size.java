package com.stintdb.kafka;

import com.stintdb.client.InvalidException;
import java.nio.ByteBuffer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.utils.Utils;
import org.apache.kafka.common.utils.Bytes;
import org.jspecify.annotations.Nullable;

/** The bytes of records. */
final class Size {
    private Size() {}

    /** The bytes of a record that was received, at least 1. */
    static long of(ConsumerRecord<?, ?> record) {
        return Math.max(1, Math.max(0, record.serializedKeySize()) + (long) Math.max(0, record.serializedValueSize()));
    }

    /** The bytes of a record that is to be sent, at least 1. */
    static long of(ProducerRecord<?, ?> record) {
        return Math.max(1, of(record.key()) + of(record.value()));
    }

    private static long of(@Nullable Object part) {
        if (part == null) {
            return 0;
        }
        if (part instanceof byte[] bytes) {
            return bytes.length;
        }
        if (part instanceof String text) {
            return Utils.utf8Length(text);
        }
        if (part instanceof ByteBuffer buffer) {
            return buffer.remaining();
        }
        if (part instanceof Bytes bytes) {
            return bytes.get().length;
        }
        throw new InvalidException("bytes: counts byte[], String, ByteBuffer and Bytes, got " + part.getClass().getName()
                + "; serialize it before, or count records");
    }
}
