package com.stintdb.client.spi;

import com.stintdb.client.StintException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;

/** A connection to a server that sends every command at most once. Its methods return at once. */
public interface Driver {
    /**
     * Sends a command. The future is completed with its reply, a {@link Long}, a {@link String}, null or a list of replies, or exceptionally with a
     * {@link StintException}; or never. If it is canceled before the command was sent, the command is not sent.
     */
    CompletableFuture<@Nullable Object> send(byte[][] words);

    /**
     * Sends a command that the server holds back, on a connection of its own, which ends with the reply or when the
     * future is canceled. Null if the driver has one connection, on which everything after the command would be held
     * back.
     */
    default @Nullable CompletableFuture<@Nullable Object> hold(byte[][] words) {
        return null;
    }

    /** Completed once the first attempt to connect is over, however it ended. */
    default CompletableFuture<?> firstAttempt() {
        return CompletableFuture.completedFuture(null);
    }

    /** Makes another connection in place of the present one, if that is as old as this. */
    default void renew(Duration age) {}

    /** Ends the connection. */
    void close();

    /** The time by which a limiter waits: that of the machine, or of a server in memory. */
    default Time time() {
        return Time.MACHINE;
    }

    /** The threads on which calls end that had no reply. */
    Executor executor();
}
