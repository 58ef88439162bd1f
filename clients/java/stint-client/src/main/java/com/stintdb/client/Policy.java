package com.stintdb.client;

/** The decision in place of Stint while it does not answer. */
public final class Policy {
    private static final Policy OPEN = new Policy(Double.POSITIVE_INFINITY);
    private static final Policy CLOSED = new Policy(0);

    /** The part of a limit: 0 denies everything, infinity allows everything. */
    private final double share;

    private Policy(double share) {
        this.share = share;
    }

    /** Allows everything while Stint does not answer. It is for limits that serve fairness. */
    public static Policy failOpen() {
        return OPEN;
    }

    /** Denies everything while Stint does not answer. It is for limits that must never be exceeded. */
    public static Policy failClosed() {
        return CLOSED;
    }

    /**
     * Gives this process a share of each limit, above 0 and at most 1, while Stint does not answer. Eight processes with 1.0 / 8 together keep about the
     * limit. A key's share starts full at its first request after Stint failed. At most 100,000 keys are kept; others are denied. It throws
     * {@link InvalidException} for any other number.
     */
    public static Policy localShare(double share) {
        if (!(share > 0 && share <= 1)) {
            throw new InvalidException("localShare: must be above 0 and at most 1, got " + share);
        }
        return new Policy(share);
    }

    boolean isOpen() {
        return this == OPEN;
    }

    boolean isClosed() {
        return this == CLOSED;
    }

    double share() {
        return share;
    }
}
