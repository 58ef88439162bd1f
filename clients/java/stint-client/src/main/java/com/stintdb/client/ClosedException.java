package com.stintdb.client;

/** The limiter was closed. */
public class ClosedException extends StintException {
    /** An exception with a message. */
    public ClosedException(String message) {
        super(message);
    }
}
