package com.stintdb.client;

import org.jspecify.annotations.Nullable;

/** The base of all exceptions of this client. */
public class StintException extends RuntimeException {
    /** An exception with a message, and its cause. */
    public StintException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }

    /** An exception with a message. */
    public StintException(String message) {
        super(message);
    }
}
