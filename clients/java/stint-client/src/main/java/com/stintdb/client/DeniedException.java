package com.stintdb.client;

import org.jspecify.annotations.Nullable;

/** {@link Limiter#await} was denied, and waiting would not help, or take longer than allowed. Nothing was taken. */
public class DeniedException extends StintException {
    /** An exception with a message, and why Stint did not decide. */
    public DeniedException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }
}
