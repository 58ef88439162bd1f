package com.stintdb.client;

import com.stintdb.client.internal.Replies;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What was used of a limit. Used, reserved, lent and remaining add up to the limit, unless it is in debt.
 *
 * @param key of the limit, from {@link Limiter#policyUsage(String, String, Map)} alone; else null
 * @param limit its tokens
 * @param used tokens
 * @param reserved charged to requests with an id that were not settled; 0 without {@link Limit#history}, where used has them too
 * @param lent set aside for holders of leases, and not known to be used
 * @param remaining below zero while the limit is in debt
 * @param start of the open window; null if the limit has none, or it begins with the next request
 * @param end of the open window, or null
 * @param history the closed windows in which anything was used, the newest first
 */
public record Usage(
        @Nullable String key, long limit, long used, long reserved, long lent, long remaining, @Nullable Instant start, @Nullable Instant end,
        List<ClosedWindow> history) {
    /** The usages in the reply of RL.POLICY USAGE. */
    static List<Usage> listOf(@Nullable Object reply) {
        List<Usage> all = new ArrayList<>();
        for (Object each : Replies.list(reply, -1)) {
            Usage usage = of(each);
            if (usage == null) {
                throw Replies.unknownForm(reply);
            }
            all.add(usage);
        }
        return List.copyOf(all);
    }

    /** The usage in the reply of RL.USAGE: names and values by turns, or null. */
    static @Nullable Usage of(@Nullable Object reply) {
        if (reply == null) {
            return null;
        }
        Map<Object, @Nullable Object> fields = Replies.fields(reply);
        if (!(fields.get("history") instanceof List<?> closed)) {
            throw Replies.unknownForm(reply);
        }
        List<ClosedWindow> history = new ArrayList<>();
        for (Object each : closed) {
            long[] n = Replies.integers(each, 4);
            history.add(new ClosedWindow(Instant.ofEpochMilli(n[0]), Instant.ofEpochMilli(n[1]), n[2], n[3]));
        }
        Object reserved = fields.get("reserved");
        return new Usage(
                fields.get("key") instanceof String key ? key : null, Replies.integer(fields.get("limit"), reply), Replies.integer(fields.get("used"), reply), reserved == null ? 0 : Replies.integer(reserved, reply),
                Replies.integer(fields.get("lent"), reply), Replies.integer(fields.get("remaining"), reply), instant(fields.get("start_ms"), reply),
                instant(fields.get("end_ms"), reply), List.copyOf(history));
    }

    private static @Nullable Instant instant(@Nullable Object ms, Object reply) {
        return ms == null ? null : Instant.ofEpochMilli(Replies.integer(ms, reply));
    }
}
