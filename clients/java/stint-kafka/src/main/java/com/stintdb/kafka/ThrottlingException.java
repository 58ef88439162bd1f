package com.stintdb.kafka;

import java.time.Duration;
import org.apache.kafka.common.errors.RetriableException;
import org.jspecify.annotations.Nullable;

/** A record would have to wait longer than {@link Pacing#maxWait} for its tokens. It was not sent, and nothing was taken. */
public class ThrottlingException extends RetriableException {
    private final Duration retryAfter;

    /** An exception with the time after which to try again, and why Stint did not decide. */
    public ThrottlingException(String message, Duration retryAfter, @Nullable Throwable cause) {
        super(message, cause);
        this.retryAfter = retryAfter;
    }

    /** The time after which the record could be sent if nobody else sends, in whole milliseconds. */
    public Duration retryAfter() {
        return retryAfter;
    }
}
