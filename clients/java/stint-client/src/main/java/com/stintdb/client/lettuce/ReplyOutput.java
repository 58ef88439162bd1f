package com.stintdb.client.lettuce;

import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.output.CommandOutput;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A reply of any form: an integer, a text, null, or a list of replies. */
final class ReplyOutput extends CommandOutput<byte[], byte[], Object> {
    /** A list that is being read. */
    private static final class Frame {
        final List<@Nullable Object> list;
        int left;

        Frame(int size) {
            list = new ArrayList<>(Math.min(size, 1000));
            left = size;
        }
    }

    private final Deque<Frame> frames = new ArrayDeque<>();

    @SuppressWarnings("NullAway")
    ReplyOutput() {
        super(ByteArrayCodec.INSTANCE, null);
    }

    @Override
    public void set(long integer) {
        add(integer);
    }

    @Override
    public void set(@Nullable ByteBuffer bytes) {
        add(bytes == null ? null : StandardCharsets.UTF_8.decode(bytes).toString());
    }

    @Override
    public void setSingle(@Nullable ByteBuffer bytes) {
        set(bytes);
    }

    @Override
    public void set(double number) {
        add(Double.toString(number));
    }

    @Override
    public void multi(int count) {
        if (count < 0) {
            add(null);
        } else if (count == 0) {
            add(List.of());
        } else {
            frames.push(new Frame(count));
        }
    }

    private void add(@Nullable Object value) {
        Object done = value;
        for (Frame frame = frames.peek(); frame != null; frame = frames.peek()) {
            frame.list.add(done);
            if (--frame.left > 0) {
                return;
            }
            done = frames.pop().list;
        }
        output = done;
    }
}
