package com.stintdb.test;

import com.stintdb.client.Algorithm;
import com.stintdb.client.InvalidException;
import com.stintdb.client.Limit;
import com.stintdb.client.Limiter;
import com.stintdb.client.LimiterBuilder;
import com.stintdb.client.Policy;
import com.stintdb.client.StintException;
import com.stintdb.client.UnavailableException;
import com.stintdb.client.internal.Bytes;
import com.stintdb.client.internal.Replies;
import com.stintdb.client.spi.Driver;
import com.stintdb.client.spi.Time;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A Stint server in memory, for tests of programs: the same decisions as a server's, to the millisecond, by a clock that the test sets. It knows token
 * buckets, fixed windows with no option but rollover, sliding windows in segments, concurrency limits, balances whose credits do not expire, several of them
 * at once, and policies. To everything else it answers with an error: such a test runs on a real server, which {@link StintServer#start} starts. It is safe
 * for use by many threads.
 */
public final class FakeServer {
    private static final Pattern NAME = Pattern.compile("\\{([^{}]*)}");

    private final FakeClock clock;
    private final Store store; // guarded by this, as all below
    private final Several several;
    private final Map<String, List<String>> payments = new HashMap<>();
    private final Map<String, Map<String, Limit>> policies = new HashMap<>();
    private volatile boolean isDown;

    /** A server whose clock begins at 2000-01-01 00:00 UTC. */
    public FakeServer() {
        this(new FakeClock());
    }

    /** A server with a clock. */
    public FakeServer(FakeClock clock) {
        this.clock = clock;
        this.store = new Store(clock);
        this.several = new Several(store);
    }

    /** Its clock. */
    public FakeClock clock() {
        return clock;
    }

    /** Sets whether the server is gone: then the policies of limiters answer. */
    public void setDown(boolean down) {
        this.isDown = down;
    }

    /**
     * Stores a policy. In its keys, {} is the id of a check, and {name} one of its fields. The limits of a check are in the order of the map.
     */
    public synchronized void setPolicy(String name, Map<String, Limit> limits) {
        policies.put(characters(Bytes.of(name)), new LinkedHashMap<>(limits));
    }

    /** A limiter on this server, which fails open. Its {@link Limiter#await} sets the clock ahead in place of waiting. */
    public Limiter limiter() {
        return limiter(Policy.failOpen()).build();
    }

    /** The settings of a limiter on this server. Its circuit breaker never opens unless it is set. */
    public LimiterBuilder limiter(Policy whenDown) {
        return Limiter.builder(whenDown, new FakeDriver()).timeout(Duration.ofSeconds(10)).breaker(Integer.MAX_VALUE, Duration.ofMillis(250));
    }

    /**
     * Carries out a command, and returns its reply: a {@link Long}, a {@link String}, null, or a list of replies. It throws a {@link StintException} in place of
     * an error reply.
     */
    public @Nullable Object execute(String... words) {
        return carryOut(Arrays.stream(words).map(word -> characters(Bytes.of(word))).toList());
    }

    private synchronized @Nullable Object carryOut(List<String> words) {
        try {
            return dispatch(words.get(0), words.subList(1, words.size()));
        } catch (InvalidException e) {
            throw Replies.errorOf("ERR " + e.getMessage());
        } catch (IndexOutOfBoundsException e) {
            throw Replies.errorOf("ERR wrong number of arguments for '" + words.get(0) + "'");
        }
    }

    private @Nullable Object dispatch(String name, List<String> words) {
        switch (name) {
            case "PING":
                return "PONG";
            case "RL.ALL":
                return several.all(words);
            case "RL.CHECK":
                return several.check(words, this::limitsOf);
            case "BAL.ADD":
                return Commands.addCredits(store, payments, words);
            case "BAL.INFO":
                return Commands.credits(store, words.get(0));
            case "RL.REFUND":
                return Commands.refund(store, words.get(0), words.get(1));
            case "CC.RELEASE":
                return Commands.release(store, words.get(0), words.get(1));
            case "DEL":
                return store.delete(words.get(0)) ? 1L : 0L;
            default:
                Algorithm algorithm = FakeLimit.ofCommand(name);
                if (algorithm == null) {
                    throw FakeLimit.lacks(name);
                }
                return Commands.acquire(store, algorithm, words);
        }
    }

    private List<Several.Part> limitsOf(String policy, Map<String, String> names) {
        Map<String, Limit> limits = policies.get(policy);
        if (limits == null) {
            throw Replies.errorOf("ERR no such policy '" + policy + "'; store it with setPolicy");
        }
        names.forEach((name, value) -> {
            if (value.isEmpty()) {
                throw Replies.errorOf(
                        name.isEmpty() ? "ERR id: the caller's id must not be empty" : "ERR WITH: the value of the field '" + name + "' must not be empty");
            }
        });
        List<Several.Part> parts = new ArrayList<>();
        limits.forEach((key, limit) -> {
            List<String> own = limit.words().stream().map(word -> filled(word.toString(), names)).toList();
            parts.add(new Several.Part(filled(key, names), FakeLimit.of(limit, own)));
        });
        return parts;
    }

    private static String filled(String text, Map<String, String> names) {
        return NAME.matcher(characters(Bytes.of(text))).replaceAll(found -> {
            String value = names.get(found.group(1));
            if (value == null) {
                throw Replies.errorOf("ERR the policy asks for the field '" + found.group(1) + "'");
            }
            return Matcher.quoteReplacement(value);
        });
    }

    /** Bytes as characters, so that no two words are the same. */
    private static String characters(byte[] bytes) {
        return new String(bytes, StandardCharsets.ISO_8859_1);
    }

    /** The driver of limiters on this server. */
    private final class FakeDriver implements Driver, Time {
        @Override
        public CompletableFuture<@Nullable Object> send(byte[][] words) {
            if (isDown) {
                return CompletableFuture.failedFuture(new UnavailableException(UnavailableException.Reason.NOT_SENT, "the test set the fake server down"));
            }
            try {
                return CompletableFuture.completedFuture(carryOut(Arrays.stream(words).map(FakeServer::characters).toList()));
            } catch (StintException e) {
                return CompletableFuture.failedFuture(e);
            }
        }

        @Override
        public void close() {}

        @Override
        public Executor executor() {
            return Runnable::run;
        }

        @Override
        public Time time() {
            return this;
        }

        @Override
        public long nanoTime() {
            return clock.nanos().longValue();
        }

        @Override
        public CompletableFuture<Void> sleep(long ms) {
            clock.advance(Duration.ofMillis(ms));
            return CompletableFuture.completedFuture(null);
        }
    }
}
