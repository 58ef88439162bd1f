package com.stintdb.client;

/** An error reply about this request: it is not allowed, whatever the policy. */
public class RefusedException extends StintException {
    /** An exception with a message. */
    public RefusedException(String message) {
        super(message);
    }
}
