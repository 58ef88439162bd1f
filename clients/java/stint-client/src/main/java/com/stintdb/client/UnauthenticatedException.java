package com.stintdb.client;

/** The server takes no requests from this connection: NOAUTH, WRONGPASS, DENIED. The fallback decides, and {@link Result#cause} has this exception. */
public class UnauthenticatedException extends StintException {
    /** An exception with a message. */
    public UnauthenticatedException(String message) {
        super(message);
    }
}
