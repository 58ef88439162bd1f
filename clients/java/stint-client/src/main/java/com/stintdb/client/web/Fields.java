package com.stintdb.client.web;

import com.stintdb.client.Limit;
import com.stintdb.client.Result;
import com.stintdb.client.Source;
import com.stintdb.client.internal.Bytes;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The fields of a response that tell what is left of a limit. */
final class Fields {
    private Fields() {}

    /** The state of a limit as fields show it. Times are in milliseconds; one that is empty is not known. */
    record Shown(String name, long quota, long remaining, OptionalLong window, OptionalLong more, OptionalLong reset, boolean warns) {}

    /** None after the fallback's decision, which has no state of the limit. The limits of a policy on the server are not known here. */
    static Map<String, String> of(Set<FieldStyle> styles, String name, Result result, @Nullable Limit limit) {
        if (result.source() == Source.FALLBACK) {
            return new LinkedHashMap<>();
        }
        boolean isNever = !result.allowed() && result.retryAfterMs() == Result.NEVER; // for which 0 seconds would mean at once
        OptionalLong more = isNever ? OptionalLong.empty() : moreAfterMs(result, limit);
        OptionalLong reset = isNever ? OptionalLong.empty() : OptionalLong.of(result.resetAfterMs());
        OptionalLong window = limit == null ? OptionalLong.empty() : OptionalLong.of(limit.fillTimeMs());
        return write(styles, new Shown(name, result.limit(), result.remaining(), window, more, reset, result.warn()), System.currentTimeMillis());
    }

    static Map<String, String> write(Set<FieldStyle> styles, Shown limit, long nowMs) {
        Map<String, String> fields = new LinkedHashMap<>();
        if (styles.contains(FieldStyle.DRAFT_10) || styles.contains(FieldStyle.DRAFT_11)) {
            String name = quoted(limit.name());
            fields.put("RateLimit-Policy", name + ";q=" + limit.quota() + parameter(";w=", limit.window()));
            fields.put("RateLimit", name + ";r=" + Math.max(0, limit.remaining()) + parameter(";t=", limit.more()) + (limit.warns() ? ";stint-warn" : ""));
        }
        if (styles.contains(FieldStyle.DRAFT_6)) {
            three(fields, "RateLimit-", limit, 0);
        }
        boolean isDate = styles.contains(FieldStyle.X_RATELIMIT_DATE);
        if (isDate || styles.contains(FieldStyle.X_RATELIMIT)) {
            three(fields, "X-RateLimit-", limit, isDate ? wholeSeconds(nowMs) : 0);
        }
        return fields;
    }

    private static void three(Map<String, String> fields, String prefix, Shown limit, long from) {
        fields.put(prefix + "Limit", Long.toString(limit.quota()));
        fields.put(prefix + "Remaining", Long.toString(Math.max(0, limit.remaining())));
        limit.reset().ifPresent(ms -> fields.put(prefix + "Reset", Long.toString(from + wholeSeconds(ms))));
    }

    private static String parameter(String name, OptionalLong ms) {
        return ms.isEmpty() ? "" : name + wholeSeconds(ms.getAsLong());
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
        for (byte b : Bytes.of(name)) {
            if (b < 32 || b > 126 || b == '%') {
                text.append(String.format("%%%02X", b & 0xff));
            } else {
                text.append(b == '"' || b == '\\' ? "\\" : "").append((char) b);
            }
        }
        return text.append('"').toString();
    }
}
