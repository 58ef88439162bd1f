package com.stintdb.client;

import com.stintdb.client.internal.Bytes;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** A command that is being written. */
final class Words {
    private final List<byte[]> words = new ArrayList<>(12);

    Words(String command) {
        add(command);
    }

    /** Adds a text, an integer or a {@link Key}. */
    Words add(Object word) {
        words.add(word instanceof Key key ? key.sent() : word instanceof String text ? Bytes.of(text) : word.toString().getBytes(StandardCharsets.US_ASCII));
        return this;
    }

    Words addAll(List<?> all) {
        all.forEach(this::add);
        return this;
    }

    Words keep(@Nullable Keep keep) {
        return keep == null ? this : add("KEEP").add(keep.word());
    }

    /** The parts of a request behind its tokens, without its fields. */
    Words options(Request request) {
        if (request.maxWaitMs > 0) {
            add("MAXWAIT").add(request.maxWaitMs + "ms");
        }
        if (request.id != null) {
            add("AS").add(request.id).add("FOR").add(request.rememberMs + "ms");
        }
        if (request.show == Request.Show.SPLIT) {
            add("SPLIT");
        }
        return request.isPeek ? add("PEEK") : this;
    }

    Words fields(Map<String, Key> fields) {
        if (!fields.isEmpty()) {
            add("WITH");
            fields.forEach((name, value) -> add(name).add(value));
        }
        return this;
    }

    byte[][] done() {
        return words.toArray(new byte[0][]);
    }
}
