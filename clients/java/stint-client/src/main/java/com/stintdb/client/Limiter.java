package com.stintdb.client;

import com.stintdb.client.Algorithm.Option;
import com.stintdb.client.internal.Rates;
import com.stintdb.client.internal.Replies;
import com.stintdb.client.spi.Driver;
import io.lettuce.core.RedisURI;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Asks a Stint server for each request, and decides when the server does not answer. Make one and keep it while the program runs. It is safe for use by
 * many threads.
 *
 * <p>Each stage is completed within the timeout, and never waits longer for a server that is slow or gone: then the fallback decides. A stage fails with
 * {@link InvalidException} if an argument cannot be sent, with {@link RefusedException} if the server replied with an error about the request, and with
 * {@link ClosedException} after {@link #close}. Stages are completed on threads of Netty: go on by methods such as {@code thenAcceptAsync} where the rest may
 * block. {@link #blocking} has the same methods for threads that wait, also virtual ones.
 */
public final class Limiter implements AutoCloseable {
    private final Driver driver;
    private final Decider decider;
    private final BlockingLimiter blocking;
    private final Awaiting awaiting;
    final Estimates estimates = new Estimates();

    Limiter(LimiterBuilder settings, Driver driver) {
        this.driver = driver;
        this.decider = new Decider(settings, driver);
        this.awaiting = new Awaiting(this, decider);
        this.blocking = new BlockingLimiter(this);
    }

    /** A limiter with the usual settings, at an address such as "redis://127.0.0.1:6379" or "rediss://user:password@stint.internal". */
    public static Limiter connect(String address, Policy whenDown) {
        return builder(whenDown, address).build();
    }

    /**
     * The settings of a limiter.
     *
     * @param whenDown the decision while Stint does not answer
     * @param addresses of one server, or of some nodes of a cluster: it goes on to the next when one fails, and follows redirections
     */
    public static LimiterBuilder builder(Policy whenDown, String... addresses) {
        return builder(whenDown, Arrays.stream(addresses).map(Limiter::address).toArray(RedisURI[]::new));
    }

    /** The settings of a limiter at addresses of Lettuce: see {@link #builder(Policy, String...)}. */
    public static LimiterBuilder builder(Policy whenDown, RedisURI... addresses) {
        if (addresses.length == 0) {
            throw new InvalidException("addresses: needs at least one, such as redis://127.0.0.1:6379");
        }
        return new LimiterBuilder(List.of(addresses), null, whenDown);
    }

    /** The settings of a limiter on another driver, such as a server in memory. */
    public static LimiterBuilder builder(Policy whenDown, Driver driver) {
        return new LimiterBuilder(List.of(), driver, whenDown);
    }

    private static RedisURI address(String text) {
        try {
            return RedisURI.create(text);
        } catch (IllegalArgumentException e) {
            throw new InvalidException("address: must be such as redis://127.0.0.1:6379, got " + Rates.quote(text) + ": " + e.getMessage());
        }
    }

    /** The same methods for threads that wait. */
    public BlockingLimiter blocking() {
        return blocking;
    }

    /** Whether the circuit breaker is open: no requests are sent at present. */
    public boolean isOpen() {
        return decider.asker.isOpen();
    }

    /** Whether Stint answers, for health checks. The stage fails with {@link UnavailableException} or {@link UnauthenticatedException} if it does not. */
    public CompletionStage<Void> ping() {
        return failing(() -> decider.asker.ask(new Words("PING").done())).thenAccept(reply -> {});
    }

    /** Ends the connection. Later calls, and those that {@link #await}, fail with {@link ClosedException}. */
    @Override
    public void close() {
        awaiting.close();
        decider.asker.close();
    }

    /** Takes one token if the limit allows. */
    public CompletionStage<Result> allow(String key, Limit limit) {
        return allow(Key.of(key), limit, 1);
    }

    /** Takes tokens if the limit allows, all or none. */
    public CompletionStage<Result> allow(String key, Limit limit, long tokens) {
        return allow(Key.of(key), limit, tokens);
    }

    /** Takes tokens if the limit allows, all or none. */
    public CompletionStage<Result> allow(Key key, Limit limit, long tokens) {
        return failing(() -> decider.observer.one("allow", () -> decider.acquire(key, limit, tokens, null, null)));
    }

    /** Takes the tokens that are there, at most so many. */
    public CompletionStage<Result> allowAtMost(String key, Limit limit, long tokens) {
        return allowAtMost(Key.of(key), limit, tokens);
    }

    /** Takes the tokens that are there, at most so many. */
    public CompletionStage<Result> allowAtMost(Key key, Limit limit, long tokens) {
        return failing(() -> decider.observer.one("allowAtMost", () -> decider.acquire(key, limit, tokens, Option.UPTO, null)));
    }

    /** Answers as {@link #allow(Key, Limit, long)} and takes nothing. */
    public CompletionStage<Result> peek(String key, Limit limit, long tokens) {
        return peek(Key.of(key), limit, tokens);
    }

    /** Answers as {@link #allow(Key, Limit, long)} and takes nothing. */
    public CompletionStage<Result> peek(Key key, Limit limit, long tokens) {
        return failing(() -> decider.observer.one("peek", () -> decider.acquire(key, limit, tokens, Option.PEEK, null)));
    }

    /** Takes tokens even if there are none: for work that has happened already. */
    public CompletionStage<Result> force(String key, Limit limit, long tokens) {
        return force(Key.of(key), limit, tokens);
    }

    /** Takes tokens even if there are none: for work that has happened already. */
    public CompletionStage<Result> force(Key key, Limit limit, long tokens) {
        return failing(() -> decider.observer.one("force", () -> decider.acquire(key, limit, tokens, Option.FORCE, null)));
    }

    /** Takes tokens of a class: its assured ones, or those that its ancestors have to lend, all or none. */
    public CompletionStage<Result> allowClass(TreeClass tree, long tokens) {
        return failing(() -> decider.observer.one("allowClass", () -> decider.acquire(tree, tokens, null)));
    }

    /** Answers as {@link #allowClass} and takes nothing. */
    public CompletionStage<Result> peekClass(TreeClass tree, long tokens) {
        return failing(() -> decider.observer.one("peekClass", () -> decider.acquire(tree, tokens, Option.PEEK)));
    }

    /** Takes tokens of all limits at one instant, or of none. */
    public CompletionStage<MultiResult> all(List<Keyed> limits, Request request) {
        return failing(() -> decider.observer.several("all", () -> decider.all(limits, request)));
    }

    /** Checks the limits of a policy stored on the server, for the caller with this id: all or none. */
    public CompletionStage<MultiResult> check(String policy, String id, Request request) {
        return check(policy, Key.of(id), request);
    }

    /** Checks the limits of a policy stored on the server, for the caller with this id: all or none. */
    public CompletionStage<MultiResult> check(String policy, Key id, Request request) {
        return failing(() -> decider.observer.several("check", () -> decider.check(policy, id, request)));
    }

    /**
     * Asks, at the start of a program, whether the server checks callers such as this one by a policy. It takes nothing. The stage fails with {@link
     * RefusedException} if the server refuses, for example because it has no such policy, and with {@link UnavailableException} or {@link
     * UnauthenticatedException} if it does not decide. A Java program is slow while it starts, so the stage waits for the reply as long as for a connection.
     */
    public CompletionStage<Void> verifyPolicy(String policy, String id) {
        return failing(() -> decider.verify(policy, Key.of(id)));
    }

    /**
     * Charges the true cost of a request that was granted with an id: tokens for each limit without a cost. The stage has null if the server does not know
     * the id: then the tokens of the request stay taken if the time to remember it is over, and the first such settlement of a process is a warning in the log. It is sent again if a reply is lost. There is no policy: the stage fails with {@link UnavailableException} if Stint does not answer.
     */
    public CompletionStage<@Nullable List<Charge>> settle(String id, long tokens) {
        return settle(Key.of(id), tokens);
    }

    /** Charges the true cost: see {@link #settle(String, long)}. */
    public CompletionStage<@Nullable List<Charge>> settle(Key id, long tokens) {
        return settled(id, charged(() -> new Words("RL.SETTLE").add(id).add(Rates.count(tokens, "tokens", 0))));
    }

    /** Charges one amount for each limit, null to keep it: see {@link #settle(String, long)}. */
    public CompletionStage<@Nullable List<Charge>> settle(Key id, List<@Nullable Long> costs) {
        return settled(id, charged(() -> {
            Words words = new Words("RL.SETTLE").add(id).add("COSTS");
            costs.forEach(cost -> words.add(cost == null ? "-" : Rates.count(cost, "costs", 0)));
            return words;
        }));
    }

    private static CompletionStage<@Nullable List<Charge>> settled(Key id, CompletionStage<@Nullable List<Charge>> charges) {
        return charges.thenApply(known -> {
            if (known == null) {
                Reserved.warnLate(id);
            }
            return known;
        });
    }

    /** Gives back everything that a request with this id took. It is {@link #settle(String, long)} in all other respects. */
    public CompletionStage<@Nullable List<Charge>> cancel(String id) {
        return cancel(Key.of(id));
    }

    /** Gives back everything that a request with this id took. It is {@link #settle(String, long)} in all other respects. */
    public CompletionStage<@Nullable List<Charge>> cancel(Key id) {
        return charged(() -> new Words("RL.CANCEL").add(id));
    }

    private CompletionStage<@Nullable List<Charge>> charged(Supplier<Words> words) {
        return failing(() -> decider.asker.askUntilAnswered(words.get().done())).thenApply(Charge::listOf);
    }

    /**
     * Takes tokens of a policy's limits under the id of a request, until {@link Reserved#end}. The stage fails with {@link InvalidException} for a request
     * without an id.
     */
    public CompletionStage<Reserved> reserving(String policy, String caller, Request request) {
        return reserving(request, () -> decider.observer.several("check", () -> decider.check(policy, Key.of(caller), request)));
    }

    /** Takes tokens of several limits under the id of a request, until {@link Reserved#end}: see {@link #reserving(String, String, Request)}. */
    public CompletionStage<Reserved> reserving(List<Keyed> limits, Request request) {
        return reserving(request, () -> decider.observer.several("all", () -> decider.all(limits, request)));
    }

    private CompletionStage<Reserved> reserving(Request request, Supplier<CompletableFuture<MultiResult>> ask) {
        return failing(() -> {
            Key id = request.id;
            if (id == null) {
                throw new InvalidException("id: reserving needs an id, and a time to remember it: Request.of(8000).id(\"call:1\", Duration.ofMinutes(10))");
            }
            return ask.get().thenApply(result -> new Reserved(this, id, result));
        });
    }

    /**
     * Takes more tokens of the same limits for a request that was granted with an id: {@link #settle(String, long)}
     * charges all together. A denial takes nothing, and the same number may be asked again. The stage has null if the
     * server does not know the id. It is sent again if a reply is lost.
     */
    public CompletionStage<@Nullable MultiResult> extend(String id, Extension extension) {
        return extend(Key.of(id), extension);
    }

    /** Takes more tokens for a request: see {@link #extend(String, Extension)}. */
    public CompletionStage<@Nullable MultiResult> extend(Key id, Extension extension) {
        return extend(id, extension, List.of());
    }

    CompletableFuture<@Nullable MultiResult> extend(Key id, Extension extension, List<Keyed> limits) {
        return failing(() -> decider.observer.extension(() -> decider.extend(id, extension, limits)));
    }

    /**
     * Opens a stream that ends at its budget, of the limits of a policy. The stage fails with {@link
     * BudgetSpentException} if there is not even one token besides those of the prompt.
     */
    public CompletionStage<BudgetStream> streaming(String policy, String caller, StreamOptions options) {
        Key key = Key.of(caller);
        List<Object> name = List.of(policy, key);
        return failing(() -> BudgetStream.open(this, options, name, List.of(), request -> check(policy, key, request)));
    }

    /** Opens a stream of several limits: see {@link #streaming(String, String, StreamOptions)}. */
    public CompletionStage<BudgetStream> streaming(List<Keyed> limits, StreamOptions options) {
        List<Key> caller = limits.stream().map(each -> each.key).toList();
        List<Keyed> all = List.copyOf(limits);
        return failing(() -> BudgetStream.open(this, options, caller, all, request -> all(all, request)));
    }

    /** Leases that spend tokens from memory, which Stint has set aside for this process. Close them before the limiter. */
    public Leases lease() {
        return lease(LeaseOptions.usual());
    }

    /** Leases with other settings: see {@link #lease()}. */
    public Leases lease(LeaseOptions options) {
        return new Leases(decider, options, Purse.Moment::now);
    }

    /** A loan of tokens that the caller renews. It throws {@link InvalidException} for other limits than token buckets and fixed windows. */
    public Loan loan(String key, Limit limit) {
        return new Loan(Key.of(key), limit, decider.asker);
    }

    /**
     * What was used of the limit of a key. The stage has null if nothing was, or the key has expired. Without a policy: see {@link #settle(String, long)}.
     */
    public CompletionStage<@Nullable Usage> usage(String key) {
        return usage(Key.of(key));
    }

    /** What was used of the limit of a key: see {@link #usage(String)}. */
    public CompletionStage<@Nullable Usage> usage(Key key) {
        return failing(() -> decider.asker.askUntilAnswered(new Words("RL.USAGE").add(key).done())).thenApply(Usage::of);
    }

    /**
     * What was used of each limit of a policy for a caller, also of those of which nothing was. The fields are those of a check. Without a policy: see
     * {@link #settle(String, long)}.
     */
    public CompletionStage<List<Usage>> policyUsage(String policy, String id, Map<String, String> fields) {
        SortedMap<String, Key> values = new TreeMap<>();
        fields.forEach((name, value) -> values.put(name, Key.of(value)));
        return policyUsage(policy, Key.of(id), values);
    }

    /** What was used of each limit of a policy: see {@link #policyUsage(String, String, Map)}. */
    public CompletionStage<List<Usage>> policyUsage(String policy, Key id, SortedMap<String, Key> fields) {
        return failing(() -> decider.asker.askUntilAnswered(new Words("RL.POLICY").add("USAGE").add(policy).add(id).fields(fields).done()))
                .thenApply(Usage::listOf);
    }

    /** Adds the credits of a payment that do not expire: see {@link #addCredits(Key, long, Key, Instant)}. */
    public CompletionStage<Long> addCredits(String key, long credits, String payment) {
        return addCredits(Key.of(key), credits, Key.of(payment), null);
    }

    /**
     * Adds the credits of a payment to a balance. The stage has the present balance. The server remembers the id of the payment for 10 years: the same payment
     * again adds nothing, so it is sent again if a reply is lost, and the same id with other credits or another end is an error. The rest of the credits is
     * gone when they expire, in whole seconds; null is never.
     */
    public CompletionStage<Long> addCredits(Key key, long credits, Key payment, @Nullable Instant expires) {
        return failing(() -> decider.asker.askUntilAnswered(Credits.adding(key, credits, payment, expires).done()))
                .thenApply(reply -> Replies.integers(reply, 2)[1]);
    }

    /** The credits of a balance. The stage has null for a key without one. */
    public CompletionStage<@Nullable Credits> credits(String key) {
        return credits(Key.of(key));
    }

    /** The credits of a balance: see {@link #credits(String)}. */
    public CompletionStage<@Nullable Credits> credits(Key key) {
        return failing(() -> decider.asker.askUntilAnswered(new Words("BAL.INFO").add(key).done())).thenApply(Credits::of);
    }

    /** The active members of a fair share, in the order of their names. Without a policy: see {@link #settle(String, long)}. */
    public CompletionStage<List<Member>> members(String pool) {
        return failing(() -> decider.asker.ask(new Words("FS.MEMBERS").add(pool).done())).thenApply(Member::listOf);
    }

    /**
     * Tells an adaptive limit about calls of its backend. Report sums, each second or so. The stage has null if the key has no limiter: nothing was granted in
     * the last ten minutes. The server counts a report once, so it is sent again if a reply is lost. Without a policy: see {@link #settle(String, long)}.
     */
    public CompletionStage<@Nullable Pace> report(String key, Report report) {
        return failing(() -> decider.asker.askUntilAnswered(new Words("AD.REPORT").add(Key.of(key)).addAll(report.words).done())).thenApply(Pace::of);
    }

    /**
     * Leaves at most so many tokens of a limit, and never more than there are: for a limit that is another service's,
     * and of which fewer are left than this process believed. {@link Result#granted} are the tokens that it took. It is
     * for buckets, windows, sliding logs and GCRA. Without a policy: see {@link #settle(String, long)}.
     */
    public CompletionStage<Result> atMost(String key, Limit limit, long tokens) {
        return atMost(Key.of(key), limit, tokens);
    }

    /** Leaves at most so many tokens: see {@link #atMost(String, Limit, long)}. */
    public CompletionStage<Result> atMost(Key key, Limit limit, long tokens) {
        return failing(() -> {
            if (!limit.corrects()) {
                throw new InvalidException("limit: atMost is for buckets and windows without segments and rollover, got " + limit);
            }
            Words words = new Words("RL.ATMOST").add(key).add(limit.algorithm().spec()).addAll(limit.words());
            return decider.asker.ask(words.add(Rates.count(tokens, "tokens", 0)).addAll(limit.countedWords()).done());
        }).thenApply(reply -> Result.ofAtMost(reply, limit));
    }

    /**
     * Follows the limits that another service tells in a response, by {@link #atMost(String, Limit, long)} for each
     * limit that is given. The stage has the time for which the service asks for a pause.
     *
     * @param status of the response
     * @param fields of the response, such as {@code response.headers().map()}
     * @param limits those of this process, by their units: {@code Map.of("requests", Keyed.of("api", limit))}
     */
    public CompletionStage<Duration> follow(int status, Map<String, List<String>> fields, Map<String, Keyed> limits) {
        Instant now = Instant.now();
        List<ProviderLimit> told = ProviderLimit.read(fields, now);
        CompletableFuture<?>[] followed = told.stream().filter(each -> limits.containsKey(each.unit())).map(each -> {
            Keyed own = limits.get(each.unit());
            return atMost(own.key, own.limit, each.remaining()).toCompletableFuture();
        }).toArray(CompletableFuture<?>[]::new);
        return CompletableFuture.allOf(followed).thenApply(done -> ProviderLimit.pause(status, fields, told, now));
    }

    /** Gives tokens back. The stage has the tokens left, or nothing if the key has no limiter. Without a policy: see {@link #settle(String, long)}. */
    public CompletionStage<OptionalLong> refund(String key, long tokens) {
        return refund(Key.of(key), tokens);
    }

    /** Gives tokens back: see {@link #refund(String, long)}. */
    public CompletionStage<OptionalLong> refund(Key key, long tokens) {
        return failing(() -> decider.asker.ask(new Words("RL.REFUND").add(key).add(Rates.count(tokens, "tokens", 1)).done()))
                .thenApply(reply -> reply == null ? OptionalLong.empty() : OptionalLong.of(Replies.integer(reply, reply)));
    }

    /** Resets a key to its full limit. The stage has whether there was something to reset. Without a policy: see {@link #settle(String, long)}. */
    public CompletionStage<Boolean> reset(String key) {
        return failing(() -> decider.asker.ask(new Words("DEL").add(Key.of(key)).done())).thenApply(reply -> Replies.integer(reply, reply) == 1);
    }

    /** Ends a holder's place in a concurrency limit. The stage has whether it had one. Without a policy: see {@link #settle(String, long)}. */
    public CompletionStage<Boolean> release(String key, String holder) {
        return failing(() -> {
            if (holder.isEmpty()) {
                throw new InvalidException("holder: needs a name");
            }
            return decider.asker.ask(new Words("CC.RELEASE").add(Key.of(key)).add(holder).done());
        }).thenApply(reply -> Replies.integer(reply, reply) == 1);
    }

    /**
     * Waits for tokens and takes them. With token buckets and queues, requests are served in the order in which they reached Stint. An adaptive limit is
     * reserved at most a quarter of a second ahead, so a pause that another process reports holds soon. The future fails with {@link DeniedException} if that
     * would take longer than this, or for ever. Canceling it gives the tokens back.
     */
    public CompletableFuture<Result> await(String key, Limit limit, long tokens, Duration atMost) {
        return failing(() -> awaiting.begin(Key.of(key), limit, tokens, Rates.milliseconds(atMost, "atMost"), 5));
    }

    /**
     * Waits for a place of a concurrency limit in the server's line, on a connection of its own. The server gives
     * places by priority, 0 to 9, the most urgent; {@link #await(String, Limit, long, Duration)} has 5.
     */
    public CompletableFuture<Result> await(String key, Limit limit, Duration atMost, int priority) {
        return failing(() -> {
            if (limit.algorithm() != Algorithm.CONCURRENCY || priority < 0 || priority > 9) {
                throw new InvalidException(
                        "priority: must be from 0 to 9, for a concurrency limit, got " + priority + " for " + limit);
            }
            return awaiting.begin(Key.of(key), limit, 1, Rates.milliseconds(atMost, "atMost"), priority);
        });
    }

    /** The stage of a call, failed if the call throws. */
    private static <T extends @Nullable Object> CompletableFuture<T> failing(Supplier<CompletableFuture<T>> call) {
        try {
            return call.get();
        } catch (StintException e) {
            return CompletableFuture.failedFuture(e);
        }
    }
}
