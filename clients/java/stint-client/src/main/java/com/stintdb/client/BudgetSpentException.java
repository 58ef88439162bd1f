package com.stintdb.client;

/** A budget has no tokens left for a stream. What the stream counted until then is charged when it is closed. */
public class BudgetSpentException extends StintException {
    private final transient MultiResult result;
    private final long used;

    /** An exception for a denial, after so many tokens were counted. */
    public BudgetSpentException(MultiResult result, long used) {
        super("the budget is spent after " + used + " tokens: " + reason(result), result.cause());
        this.result = result;
        this.used = used;
    }

    private static String reason(MultiResult result) {
        if (result.cause() != null) {
            return String.valueOf(result.cause().getMessage());
        }
        boolean isNever = result.retryAfterMs() == Result.NEVER;
        return isNever ? "it will never be granted" : "try again in " + (result.retryAfterMs() + 999) / 1000 + " s";
    }

    /** The denial. */
    public MultiResult result() {
        return result;
    }

    /** The tokens that the stream had counted, 0 if it never began. */
    public long used() {
        return used;
    }
}
