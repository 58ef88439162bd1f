package com.stintdb.client.lettuce;

import io.lettuce.core.cluster.SlotHash;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.ToIntFunction;
import org.jspecify.annotations.Nullable;

/**
 * The node that leads the group of each slot, as CLUSTER SLOTS shows them: none without groups, where all nodes are as good. A node is its place among all,
 * below 255.
 */
final class Leaders {
    static final byte[][] SLOTS = {"CLUSTER".getBytes(StandardCharsets.US_ASCII), "SLOTS".getBytes(StandardCharsets.US_ASCII)};

    private static final long EVERY = TimeUnit.SECONDS.toNanos(10); // leaders change without a word while nodes forward
    private static final long AGAIN = TimeUnit.SECONDS.toNanos(1); // after a redirection or a failure

    private volatile byte[] bySlot = {}; // a place and 1; 0: not known. A call that reads an old one is redirected or forwarded
    private long asked = System.nanoTime() - EVERY;
    private boolean isOld; // since a redirection or a failure, or there is no reply yet

    /** Whether the leaders are to be asked for now. Then it takes it that they are. */
    synchronized boolean isDue() {
        long now = System.nanoTime();
        if (now - asked < (isOld ? AGAIN : EVERY)) {
            return false;
        }
        asked = now;
        isOld = true;
        return true;
    }

    /** Has them asked for again soon: a node has redirected a command, or failed. */
    synchronized void distrust() {
        isOld = true;
    }

    /** Takes the reply to CLUSTER SLOTS. placeOf has the node at an address, or -1. */
    synchronized void learn(@Nullable Object reply, ToIntFunction<String> placeOf) {
        if (!(reply instanceof List<?> ranges)) {
            return;
        }
        byte[] learned = new byte[ranges.size() > 1 ? SlotHash.SLOT_COUNT : 0];
        for (Object each : learned.length > 0 ? ranges : List.of()) {
            if (each instanceof List<?> range
                    && range.get(0) instanceof Long first
                    && range.get(1) instanceof Long last
                    && range.get(2) instanceof List<?> node) {
                Arrays.fill(learned, first.intValue(), last.intValue() + 1, (byte) (placeOf.applyAsInt(node.get(0) + ":" + node.get(1)) + 1));
            }
        }
        bySlot = learned;
        isOld = false;
    }

    /** The node that leads the key of a command, or -1. */
    int of(byte[][] words) {
        byte[] known = bySlot;
        int slot = known.length == 0 ? -1 : slotOf(words);
        return slot < 0 ? -1 : (known[slot] & 0xff) - 1;
    }

    /** The slot of a command's key, or -1 if only the server knows the keys. */
    static int slotOf(byte[][] words) {
        int place =
                switch (new String(words[0], StandardCharsets.US_ASCII)) {
                    case "RL.CHECK", "RL.POLICY" -> words.length;
                    case "RL.ALL" -> 2;
                    default -> 1;
                };
        return place < words.length ? SlotHash.getSlot(words[place]) : -1;
    }
}
