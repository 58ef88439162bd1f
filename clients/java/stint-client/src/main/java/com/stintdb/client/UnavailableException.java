package com.stintdb.client;

import org.jspecify.annotations.Nullable;

/** Stint did not decide. It is the {@link Result#cause} of a result that the policy gave. Calls without a policy, such as {@link Limiter#settle}, throw it. */
public class UnavailableException extends StintException {
    /** Why Stint did not decide. */
    public enum Reason {
        /** No reply within the timeout: the tokens may have been taken. */
        TIMEOUT,
        /** There was no connection, and nothing was sent. */
        NOT_SENT,
        /** The connection failed: the tokens may have been taken. */
        CONNECTION,
        /** Stint failed several times in a row, and gets no requests until it works again. */
        CIRCUIT_OPEN,
        /** Too many requests wait for replies. */
        OVERLOADED,
        /** The server replied that it cannot decide at present: CLUSTERDOWN, LOADING, OOM and the like. */
        BUSY,
        /** A cluster lost its leader: the tokens may have been taken, and count as spent. */
        UNCERTAIN
    }

    private final Reason reason;

    /** An exception for a reason. */
    public UnavailableException(Reason reason, String message, @Nullable Throwable cause) {
        super(message, cause);
        this.reason = reason;
    }

    /** An exception for a reason. */
    public UnavailableException(Reason reason, String message) {
        this(reason, message, null);
    }

    /** Why Stint did not decide. */
    public Reason reason() {
        return reason;
    }
}
