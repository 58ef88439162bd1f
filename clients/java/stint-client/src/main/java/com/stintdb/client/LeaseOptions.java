package com.stintdb.client;

import com.stintdb.client.internal.Rates;
import java.time.Duration;

/**
 * The settings of {@link Leases}.
 *
 * @param ahead the time that a chunk of tokens should last: 100 ms by default, at most 500 ms
 * @param maxKeys the most keys with tokens in memory, 10,000 by default; requests for others go to the server
 */
public record LeaseOptions(Duration ahead, int maxKeys) {
    private static final long MOST_AHEAD_MS = 500;

    /** Throws {@link InvalidException} for values out of their ranges. */
    public LeaseOptions {
        if (Rates.milliseconds(ahead, "ahead") > MOST_AHEAD_MS) {
            throw new InvalidException("ahead: must be at most " + MOST_AHEAD_MS + " ms, got " + ahead);
        }
        if (maxKeys < 1) {
            throw new InvalidException("maxKeys: must be an integer above 0, got " + maxKeys);
        }
    }

    /** The usual settings. */
    public static LeaseOptions usual() {
        return new LeaseOptions(Duration.ofMillis(100), 10_000);
    }
}
