package com.stintdb.client;

import com.stintdb.client.internal.Replies;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The amount that one limit of a settled request is charged, and its state.
 *
 * @param charged tokens
 * @param limit the largest number that can be granted at once
 * @param remaining whole tokens left; below zero if more was charged than there was
 * @param resetAfterMs milliseconds until the key is at its full limit
 */
public record Charge(long charged, long limit, long remaining, long resetAfterMs) {
    /** The charges in the reply of RL.SETTLE and RL.CANCEL, or null. */
    static @Nullable List<Charge> listOf(@Nullable Object reply) {
        if (reply == null) {
            return null;
        }
        List<Charge> charges = new ArrayList<>();
        for (Object each : Replies.list(reply, -1)) {
            long[] n = Replies.integers(each, 4);
            charges.add(new Charge(n[0], n[1], n[2], n[3]));
        }
        return List.copyOf(charges);
    }
}
