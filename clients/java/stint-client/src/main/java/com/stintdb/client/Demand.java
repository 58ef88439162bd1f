package com.stintdb.client;

import com.stintdb.client.Purse.Moment;

/** How many tokens the requests for one key are expected to need. Its lease guards it. */
final class Demand {
    private final double ahead; // milliseconds
    private double perMs; // tokens
    private long measured; // tokens used until the last measurement
    private double measuredAt;
    private long seen; // tokens used until the last round
    private int quiet;

    Demand(double ahead, double now) {
        this.ahead = ahead;
        this.measuredAt = now;
    }

    /** The tokens for the time ahead, when so many have been used since the beginning. It follows a rise at once and a fall slowly. */
    double expected(Moment now, long used) {
        double span = now.monotonic() - measuredAt;
        if (span >= 1) {
            double sample = (used - measured) / span;
            perMs = sample < perMs ? (3 * perMs + sample) / 4 : sample;
            measured = used;
            measuredAt = now.monotonic();
        }
        return perMs * ahead;
    }

    /** Ends a round, in which some tokens were used or not. It returns how many rounds found no use since there was one. */
    int endRound(long used, boolean isWaitedFor) {
        quiet = used != seen || isWaitedFor ? 0 : quiet + 1;
        seen = used;
        return quiet;
    }
}
