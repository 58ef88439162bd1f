package com.stintdb.client;

/** The warning of the first settlement in this process that charged nothing. */
public final class LateSettlements {
    private LateSettlements() {}

    /** Has it logged again. */
    public static void forget() {
        Reserved.forgetLate();
    }
}
