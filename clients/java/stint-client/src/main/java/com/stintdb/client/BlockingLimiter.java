package com.stintdb.client;

import com.stintdb.client.internal.Asker;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * The methods of a {@link Limiter} for threads that wait, also virtual ones: no lock is held meanwhile. They return within the timeout, and throw what the
 * stages of the limiter fail with. Do not call them on a thread of Netty or of a stage of the limiter, which would wait for itself.
 */
public final class BlockingLimiter {
    private final Limiter limiter;

    BlockingLimiter(Limiter limiter) {
        this.limiter = limiter;
    }

    /** {@link Limiter#ping}. */
    public void ping() {
        join(limiter.ping());
    }

    /** {@link Limiter#allow(String, Limit)}. */
    public Result allow(String key, Limit limit) {
        return join(limiter.allow(key, limit));
    }

    /** {@link Limiter#allow(String, Limit, long)}. */
    public Result allow(String key, Limit limit, long tokens) {
        return join(limiter.allow(key, limit, tokens));
    }

    /** {@link Limiter#allow(Key, Limit, long)}. */
    public Result allow(Key key, Limit limit, long tokens) {
        return join(limiter.allow(key, limit, tokens));
    }

    /** {@link Limiter#allowAtMost(String, Limit, long)}. */
    public Result allowAtMost(String key, Limit limit, long tokens) {
        return join(limiter.allowAtMost(key, limit, tokens));
    }

    /** {@link Limiter#peek(String, Limit, long)}. */
    public Result peek(String key, Limit limit, long tokens) {
        return join(limiter.peek(key, limit, tokens));
    }

    /** {@link Limiter#force(String, Limit, long)}. */
    public Result force(String key, Limit limit, long tokens) {
        return join(limiter.force(key, limit, tokens));
    }

    /** {@link Limiter#allowClass}. */
    public Result allowClass(TreeClass tree, long tokens) {
        return join(limiter.allowClass(tree, tokens));
    }

    /** {@link Limiter#peekClass}. */
    public Result peekClass(TreeClass tree, long tokens) {
        return join(limiter.peekClass(tree, tokens));
    }

    /** {@link Limiter#all}. */
    public MultiResult all(List<Keyed> limits, Request request) {
        return join(limiter.all(limits, request));
    }

    /** {@link Limiter#check(String, String, Request)} for one token. */
    public MultiResult check(String policy, String id) {
        return check(policy, id, Request.one());
    }

    /** {@link Limiter#check(String, String, Request)}. */
    public MultiResult check(String policy, String id, Request request) {
        return join(limiter.check(policy, id, request));
    }

    /** {@link Limiter#verifyPolicy}. */
    public void verifyPolicy(String policy, String id) {
        join(limiter.verifyPolicy(policy, id));
    }

    /** {@link Limiter#settle(String, long)}. */
    public @Nullable List<Charge> settle(String id, long tokens) {
        return join(limiter.settle(id, tokens));
    }

    /** {@link Limiter#settle(Key, List)}. */
    public @Nullable List<Charge> settle(String id, List<@Nullable Long> costs) {
        return join(limiter.settle(Key.of(id), costs));
    }

    /** {@link Limiter#cancel(String)}. */
    public @Nullable List<Charge> cancel(String id) {
        return join(limiter.cancel(id));
    }

    /**
     * Takes tokens of a policy's limits until the end of a block:
     *
     * <pre>{@code
     * try (Reserved reserved = limiter.blocking().reserving("llm", "user7", Request.of(8000).id("call:1", Duration.ofMinutes(10)))) {
     *     if (reserved.allowed()) {
     *         reserved.settle(askTheModel()); // the true cost; if the block ends without it, everything is given back
     *     }
     * }
     * }</pre>
     */
    public Reserved reserving(String policy, String caller, Request request) {
        return join(limiter.reserving(policy, caller, request));
    }

    /** Takes tokens of several limits until the end of a block: see {@link #reserving(String, String, Request)}. */
    public Reserved reserving(List<Keyed> limits, Request request) {
        return join(limiter.reserving(limits, request));
    }

    /** {@link Limiter#extend(String, Extension)}. */
    public @Nullable MultiResult extend(String id, Extension extension) {
        return join(limiter.extend(id, extension));
    }

    /** {@link Limiter#streaming(String, String, StreamOptions)}. */
    public BudgetStream streaming(String policy, String caller, StreamOptions options) {
        return join(limiter.streaming(policy, caller, options));
    }

    /** {@link Limiter#streaming(List, StreamOptions)}. */
    public BudgetStream streaming(List<Keyed> limits, StreamOptions options) {
        return join(limiter.streaming(limits, options));
    }

    /** {@link Limiter#usage(String)}. */
    public @Nullable Usage usage(String key) {
        return join(limiter.usage(key));
    }

    /** {@link Limiter#policyUsage(String, String, Map)}. */
    public List<Usage> policyUsage(String policy, String id, Map<String, String> fields) {
        return join(limiter.policyUsage(policy, id, fields));
    }

    /** See {@link Limiter#addCredits(String, long, String)}. */
    public long addCredits(String key, long credits, String payment) {
        return join(limiter.addCredits(key, credits, payment));
    }

    /** See {@link Limiter#addCredits(Key, long, Key, Instant)}. */
    public long addCredits(String key, long credits, String payment, Instant expires) {
        return join(limiter.addCredits(Key.of(key), credits, Key.of(payment), expires));
    }

    /** See {@link Limiter#credits(String)}. */
    public @Nullable Credits credits(String key) {
        return join(limiter.credits(key));
    }

    /** {@link Limiter#members}. */
    public List<Member> members(String pool) {
        return join(limiter.members(pool));
    }

    /** {@link Limiter#report}. */
    public @Nullable Pace report(String key, Report report) {
        return join(limiter.report(key, report));
    }

    /** {@link Limiter#atMost(String, Limit, long)}. */
    public Result atMost(String key, Limit limit, long tokens) {
        return join(limiter.atMost(key, limit, tokens));
    }

    /** {@link Limiter#follow}. */
    public Duration follow(int status, Map<String, List<String>> fields, Map<String, Keyed> limits) {
        return join(limiter.follow(status, fields, limits));
    }

    /** {@link Limiter#refund(String, long)}. */
    public OptionalLong refund(String key, long tokens) {
        return join(limiter.refund(key, tokens));
    }

    /** {@link Limiter#reset}. */
    public boolean reset(String key) {
        return join(limiter.reset(key));
    }

    /** {@link Limiter#release}. */
    public boolean release(String key, String holder) {
        return join(limiter.release(key, holder));
    }

    /**
     * {@link Limiter#await}. It throws {@link InterruptedException} if the thread is interrupted while it waits: then the tokens are given back.
     */
    public Result await(String key, Limit limit, long tokens, Duration atMost) throws InterruptedException {
        return awaited(limiter.await(key, limit, tokens, atMost));
    }

    /** {@link Limiter#await(String, Limit, Duration, int)}. If the thread is interrupted, it leaves the line. */
    public Result await(String key, Limit limit, Duration atMost, int priority) throws InterruptedException {
        return awaited(limiter.await(key, limit, atMost, priority));
    }

    private static Result awaited(CompletableFuture<Result> future) throws InterruptedException {
        try {
            return future.get();
        } catch (InterruptedException e) {
            future.cancel(false);
            throw e;
        } catch (ExecutionException e) {
            throw thrown(e.getCause() == null ? e : e.getCause());
        }
    }

    static <T extends @Nullable Object> T join(CompletionStage<T> stage) {
        try {
            return stage.toCompletableFuture().join();
        } catch (CompletionException e) {
            throw thrown(e);
        }
    }

    /** The exception with the stack of the thread that waits: it was made on another. */
    private static StintException thrown(Throwable error) {
        StintException thrown = Asker.errorOf(error);
        thrown.fillInStackTrace();
        return thrown;
    }
}
