package com.stintdb.client.lettuce;

import com.stintdb.client.StintException;
import com.stintdb.client.UnauthenticatedException;
import com.stintdb.client.UnavailableException;
import com.stintdb.client.UnavailableException.Reason;
import com.stintdb.client.internal.Replies;
import com.stintdb.client.internal.Timer;
import io.lettuce.core.RedisChannelHandler;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisConnectionStateListener;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.protocol.AsyncCommand;
import io.lettuce.core.protocol.Command;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.ProtocolKeyword;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A server's address, with one connection at a time. Lettuce's own reconnection is off, because it sends commands again that were under way, and because a
 * connection that died without a sign would stay.
 */
final class Node {
    private static final byte[][] PING = {"PING".getBytes(StandardCharsets.US_ASCII)};
    private static final Duration FIRST_PAUSE = Duration.ofSeconds(1); // without commands after a failure. It doubles until the node answers
    private static final Duration LONGEST_PAUSE = Duration.ofMinutes(1);

    final RedisURI address;
    /** Completed once the first attempt to connect is over: whether it ended with a connection. */
    final CompletableFuture<Boolean> firstAttempt = new CompletableFuture<>();

    private final RedisClient client;
    private volatile @Nullable StatefulRedisConnection<byte[], byte[]> connection;
    private volatile @Nullable UnauthenticatedException refusal; // of the login; each attempt meets it again until one succeeds
    private volatile @Nullable Throwable failure; // of the last attempt to connect
    private volatile long pause; // in nanoseconds; 0: it has answered since it failed last
    private volatile long paused; // the beginning of the pause, a time of System.nanoTime()
    private long opened; // guarded by this, as all below
    private int generation; // of the connection, and of the attempt to make one
    private int failures; // in a row
    private boolean isClosed;

    Node(RedisClient client, RedisURI address) {
        this.client = client;
        this.address = address;
    }

    /** Begins to connect. */
    void open() {
        int mine;
        synchronized (this) {
            if (isClosed) {
                return;
            }
            mine = ++generation;
            opened = System.nanoTime();
        }
        client.connectAsync(ByteArrayCodec.INSTANCE, address).whenComplete((made, error) -> {
            if (made == null) {
                failed(mine, error);
            } else {
                connected(mine, made);
            }
        });
    }

    private void connected(int mine, StatefulRedisConnection<byte[], byte[]> made) {
        made.addListener(new RedisConnectionStateListener() {
            @Override
            public void onRedisDisconnected(RedisChannelHandler<?, ?> handler) {
                end(made); // ends the commands that are under way
                failed(mine, null);
            }
        });
        synchronized (this) {
            if (isClosed || mine != generation) {
                end(made);
                return;
            }
            failures = 0;
            refusal = null;
            connection = made;
        }
        if (!firstAttempt.isDone()) {
            send(PING, made).whenComplete((pong, error) -> firstAttempt.complete(true)); // so that the first call finds all classes loaded
        }
        if (!made.isOpen()) {
            failed(mine, null);
        }
    }

    /** Connects again a while later, unless that has begun already. */
    private void failed(int mine, @Nullable Throwable error) {
        int times;
        synchronized (this) {
            if (isClosed || mine != generation) {
                return;
            }
            generation++;
            connection = null;
            times = ++failures;
            if (error != null) {
                failure = error;
                refusal = refusalOf(error);
            }
        }
        firstAttempt.complete(false);
        long ms = Math.min(50L * times, 100); // with the time to the breaker's next probe, less than 500 after the server's return
        Timer.after(TimeUnit.MILLISECONDS.toNanos(ms), this::open);
    }

    /** Whether it failed lately and has not answered since. */
    boolean isPaused() {
        return pause > 0 && System.nanoTime() - paused < pause;
    }

    void answered() {
        if (pause > 0) {
            pause = 0;
        }
    }

    /**
     * Begins a pause, unless there is one. A node whose reply was overdue, and that has not answered since its last pause, gets another connection, because the
     * present one may have died without a sign.
     */
    void failed(boolean isOverdue) {
        long last;
        synchronized (this) {
            if (isPaused()) {
                return;
            }
            last = pause;
            paused = System.nanoTime();
            pause = Math.min(Math.max(2 * last, FIRST_PAUSE.toNanos()), LONGEST_PAUSE.toNanos());
        }
        if (isOverdue && last > 0) {
            renew(FIRST_PAUSE);
        }
    }

    /** Makes another connection in place of the present one, or of the attempt to make one, if that is as old as this. */
    void renew(Duration age) {
        StatefulRedisConnection<byte[], byte[]> old;
        synchronized (this) {
            if (isClosed || System.nanoTime() - opened < age.toNanos()) {
                return;
            }
            old = connection;
            connection = null;
        }
        open();
        if (old != null) {
            end(old);
        }
    }

    /** Connects no more. The end of the client ends the connection. */
    synchronized void close() {
        isClosed = true;
        connection = null;
    }

    /** Ends the connection, and connects no more. */
    void end() {
        StatefulRedisConnection<byte[], byte[]> open = connection;
        close();
        if (open != null) {
            end(open);
        }
    }

    private static void end(StatefulRedisConnection<byte[], byte[]> connection) {
        if (connection.isOpen()) {
            connection.closeAsync();
        }
    }

    /** Sends a command if there is a connection. */
    CompletableFuture<@Nullable Object> send(byte[][] words) {
        StatefulRedisConnection<byte[], byte[]> present = connection;
        if (present == null) {
            UnauthenticatedException refused = refusal;
            return CompletableFuture.failedFuture(
                    refused != null ? refused : new UnavailableException(Reason.NOT_SENT, "there is no connection to Stint at " + where(), failure));
        }
        return send(words, present);
    }

    private CompletableFuture<@Nullable Object> send(byte[][] words, StatefulRedisConnection<byte[], byte[]> to) {
        CommandArgs<byte[], byte[]> arguments = new CommandArgs<>(ByteArrayCodec.INSTANCE);
        for (int i = 1; i < words.length; i++) {
            arguments.add(words[i]);
        }
        AsyncCommand<byte[], byte[], Object> command = new AsyncCommand<>(new Command<>(new Name(words[0]), new ReplyOutput(), arguments));
        CompletableFuture<@Nullable Object> reply = new CompletableFuture<>();
        reply.whenComplete((answer, error) -> {
            if (error instanceof CancellationException) {
                command.cancel();
            }
        });
        command.whenComplete((answer, error) -> {
            if (error == null) {
                reply.complete(answer);
            } else {
                reply.completeExceptionally(errorOf(error));
            }
        });
        try {
            to.dispatch(command);
        } catch (RuntimeException e) {
            reply.completeExceptionally(errorOf(e));
        }
        return reply;
    }

    /** The name of a command. */
    private static final class Name implements ProtocolKeyword {
        private final byte[] bytes;

        Name(byte[] bytes) {
            this.bytes = bytes;
        }

        @Override
        public byte[] getBytes() {
            return bytes;
        }

        @Override
        public String toString() {
            return new String(bytes, StandardCharsets.US_ASCII);
        }
    }

    private StintException errorOf(Throwable error) {
        if (isReply(error)) {
            return Replies.errorOf(String.valueOf(error.getMessage()));
        }
        return new UnavailableException(Reason.CONNECTION, "the connection to Stint at " + where() + " failed: " + error.getMessage(), error);
    }

    /** Whether it is an error reply. Lettuce has another exception for that of the protected mode. */
    private static boolean isReply(Throwable error) {
        return error instanceof RedisCommandExecutionException || String.valueOf(error.getMessage()).startsWith("DENIED ");
    }

    private static @Nullable UnauthenticatedException refusalOf(Throwable error) {
        for (Throwable cause = error; cause != null; cause = cause.getCause()) {
            if (isReply(cause) && Replies.errorOf(String.valueOf(cause.getMessage())) instanceof UnauthenticatedException e) {
                return e;
            }
        }
        return null;
    }

    String where() {
        return address.getHost() + ":" + address.getPort();
    }
}
