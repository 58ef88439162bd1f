package com.stintdb.client;

import com.stintdb.client.Purse.Moment;
import com.stintdb.client.internal.Timer;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Answers requests from memory, with tokens that Stint has set aside for this process. Make one with {@link Limiter#lease}. It is safe for use by many
 * threads.
 *
 * <p>It keeps the same limits as the limiter itself: the server counts tokens as taken from the moment that it sets them aside until this process states that
 * they are not spent. A process stops spending five seconds after the last operation that the server is known to have carried out; after ten seconds the
 * server counts the tokens as spent.
 *
 * <p>Token buckets and fixed windows of eight tokens or more can be leased, each key by at most 64 processes at a time. Near the limit, for keys in little
 * demand, and for all else, requests go to the server one by one.
 */
public final class Leases implements AutoCloseable {
    private static final long TIDY_EVERY_MS = 250; // tokens unused for this time go back
    private static final int FORGET_AFTER = 40; // rounds without a request after which a key is forgotten: 10 s
    private static final long LEAST_CAPACITY = 8; // the server lends an eighth of the tokens that are left

    private final Decider server;
    private final LeaseOptions options;
    private final Supplier<Moment> clock;
    private final Map<Key, Lease> leases = new ConcurrentHashMap<>();
    private final String name;
    private final AtomicLong serial = new AtomicLong(); // each lease is another holder, so that none hears of operations of an earlier one
    private final Future<?> tidier;
    private volatile boolean isClosed;

    Leases(Decider server, LeaseOptions options, Supplier<Moment> clock) {
        this.server = server;
        this.options = options;
        this.clock = clock;
        byte[] random = new byte[8];
        new SecureRandom().nextBytes(random);
        this.name = HexFormat.of().formatHex(random);
        this.tidier = Timer.every(TIDY_EVERY_MS, this::tidy);
    }

    /** Takes one token: see {@link #allow(Key, Limit, long)}. */
    public CompletionStage<Result> allow(String key, Limit limit) {
        return allow(Key.of(key), limit, 1);
    }

    /** Takes tokens: see {@link #allow(Key, Limit, long)}. */
    public CompletionStage<Result> allow(String key, Limit limit, long tokens) {
        return allow(Key.of(key), limit, tokens);
    }

    /**
     * Takes tokens if the limit allows, as {@link Limiter#allow(Key, Limit, long)} does. The source of the result is {@link Source#LEASED} when the answer came
     * from memory. Then {@code remaining} is the tokens there plus those remaining in the server's last reply.
     */
    public CompletionStage<Result> allow(Key key, Limit limit, long tokens) {
        Lease lease = tokens >= 1 && tokens <= limit.capacity() ? find(key, limit) : null;
        if (lease != null) {
            return server.observer.one("allow", () -> lease.take(tokens));
        }
        try {
            return server.observer.one("allow", () -> server.acquire(key, limit, tokens, null, null));
        } catch (StintException e) {
            return CompletableFuture.failedFuture(e);
        }
    }

    /** {@link #allow(String, Limit)} for a thread that waits. */
    public Result allowNow(String key, Limit limit) {
        return BlockingLimiter.join(allow(key, limit));
    }

    /** {@link #allow(String, Limit, long)} for a thread that waits. */
    public Result allowNow(String key, Limit limit, long tokens) {
        return BlockingLimiter.join(allow(key, limit, tokens));
    }

    /** The tokens of a key that may be spent from memory. */
    public long held(String key) {
        Lease lease = leases.get(Key.of(key));
        return lease == null ? 0 : lease.held();
    }

    /** Gives tokens back, within a few timeouts. Later requests each go to the server. Tokens of a return that fails count as spent after ten seconds. */
    @Override
    public void close() {
        closeAsync().toCompletableFuture().join();
    }

    /** {@link #close}, as a stage. */
    public CompletionStage<?> closeAsync() {
        isClosed = true;
        tidier.cancel(false);
        List<CompletableFuture<?>> ends = new ArrayList<>();
        leases.values().forEach(lease -> ends.add(lease.end()));
        return CompletableFuture.allOf(ends.toArray(new CompletableFuture<?>[0]));
    }

    /** The lease of a key and a limit. It makes one if there is room. After {@link #close} there is none. */
    private @Nullable Lease find(Key key, Limit limit) {
        if (isClosed) {
            return null;
        }
        Lease present = leases.get(key);
        if (present != null && (present.limit == limit || present.limit.equals(limit))) {
            return present;
        }
        if (!isLeasable(limit) || (present == null && leases.size() >= options.maxKeys())) {
            return null;
        }
        return leases.compute(key, (same, old) -> {
            if (old != null && old.limit.equals(limit)) {
                return old;
            }
            if (old != null) {
                old.end(); // under another limit than before: its tokens go back
            }
            return new Lease(key, limit, name + "-" + serial.incrementAndGet(), server, options.ahead().toMillis(), clock);
        });
    }

    private static boolean isLeasable(Limit limit) {
        return limit.isLendable() && limit.capacity() >= LEAST_CAPACITY;
    }

    private void tidy() {
        leases.forEach((key, lease) -> {
            if (lease.tidy() >= FORGET_AFTER) {
                leases.remove(key, lease);
                lease.end();
            }
        });
    }
}
