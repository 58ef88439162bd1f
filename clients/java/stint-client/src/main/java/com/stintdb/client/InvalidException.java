package com.stintdb.client;

/** An argument that cannot be sent: nothing was sent. The message has the argument's name and value. */
public class InvalidException extends StintException {
    /** An exception with a message. */
    public InvalidException(String message) {
        super(message);
    }
}
