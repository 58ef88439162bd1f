package com.stintdb.client.web;

import com.stintdb.client.Limit;
import com.stintdb.client.Result;
import com.stintdb.client.Source;
import com.stintdb.client.internal.Bytes;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/** The fields of a response: those of draft-ietf-httpapi-ratelimit-headers-10, and X-RateLimit. */
final class Fields {
    private Fields() {}

    /** None after the policy's answer in place of Stint, which has no state of the limit. The limits of a policy on the server are not known here. */
    static Map<String, String> of(String name, Result result, @Nullable Limit limit) {
        Map<String, String> fields = new LinkedHashMap<>();
        if (result.source() == Source.FALLBACK) {
            return fields;
        }
        boolean isNever = !result.allowed() && result.retryAfterMs() == Result.NEVER; // for which 0 seconds would mean at once
        long remaining = Math.max(0, result.remaining());
        OptionalLong more = isNever ? OptionalLong.empty() : moreAfterMs(result, limit);
        fields.put("RateLimit-Policy", quoted(name) + ";q=" + result.limit() + (limit == null ? "" : ";w=" + wholeSeconds(limit.fillTimeMs())));
        fields.put("RateLimit", quoted(name) + ";r=" + remaining + (more.isEmpty() ? "" : ";t=" + wholeSeconds(more.getAsLong())));
        fields.put("X-RateLimit-Limit", Long.toString(result.limit()));
        fields.put("X-RateLimit-Remaining", Long.toString(remaining));
        if (!isNever) {
            fields.put("X-RateLimit-Reset", Long.toString(wholeSeconds(result.resetAfterMs())));
        }
        return fields;
    }

    /** Milliseconds until another token comes back; empty if that is not known. */
    private static OptionalLong moreAfterMs(Result result, @Nullable Limit limit) {
        OptionalLong denied = result.allowed() ? OptionalLong.empty() : OptionalLong.of(result.retryAfterMs());
        if (limit == null || result.source() == Source.LOCAL) {
            return denied;
        }
        if (result.source() != Source.SERVER) {
            return OptionalLong.empty();
        }
        return switch (limit.algorithm()) {
            case FIXED_WINDOW -> OptionalLong.of(result.resetAfterMs());
            case SLIDING_WINDOW, SLIDING_LOG -> denied;
            default -> {
                double missing = Math.max(0, result.limit() - result.remaining() - 1); // tokens that come back after the next
                long after = (long) Math.ceil(Math.max(0, result.resetAfterMs() - missing * limit.periodMs() / limit.count()));
                yield OptionalLong.of(Math.min(after, denied.orElse(after)));
            }
        };
    }

    /** Rounded up to seconds, so that a client that waits for this time is not too early. */
    static long wholeSeconds(long ms) {
        return Math.max(0, (ms + 999) / 1000);
    }

    /** A string of structured fields. Bytes that are not allowed in one are written as in URLs, and so is %. */
    private static String quoted(String name) {
        StringBuilder text = new StringBuilder("\"");
        for (byte b : Bytes.shortened(Bytes.of(name))) {
            if (b < 32 || b > 126 || b == '%') {
                text.append(String.format("%%%02X", b & 0xff));
            } else {
                text.append(b == '"' || b == '\\' ? "\\" : "").append((char) b);
            }
        }
        return text.append('"').toString();
    }
}
