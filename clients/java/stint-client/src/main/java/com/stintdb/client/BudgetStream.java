package com.stintdb.client;

import com.stintdb.client.internal.Asker;
import com.stintdb.client.internal.Rates;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.function.ToLongFunction;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A stream that ends at its budget: it reserves some tokens, reserves more while it runs, and is charged once for what
 * it used.
 *
 * <pre>{@code
 * try (BudgetStream stream = limiter.blocking().streaming("llm", "user7", StreamOptions.usual().prompt(400))) {
 *     stream.wrap(chunks, Chunk::tokens).forEach(this::send);
 * }
 * }</pre>
 *
 * <p>It may be used by several threads. Their chunks are counted one after the other.
 */
public final class BudgetStream implements AutoCloseable {
    private static final System.Logger LOG = System.getLogger("com.stintdb.client");

    private final Limiter limiter;
    private final Key id;
    private final MultiResult result;
    private final StreamOptions options;
    private final List<Keyed> limits;
    private final Object caller;

    private final AtomicReference<CompletableFuture<?>> turn =
            new AtomicReference<>(CompletableFuture.completedFuture(null));
    private final AtomicReference<@Nullable CompletableFuture<@Nullable Void>> end = new AtomicReference<>();

    // Each of these is written in turn.
    private volatile long used;
    private volatile long reserved;
    private long next = 1; // the number of the next extension
    private boolean asksAhead = true;
    private boolean hasBegun;
    private @Nullable StintException stopped;
    private volatile @Nullable Settlement settlement;

    private volatile @Nullable Long total;
    private volatile @Nullable AutoCloseable source;

    private BudgetStream(
            Limiter limiter, Key id, MultiResult result, StreamOptions options, List<Keyed> limits, Object caller) {
        this.limiter = limiter;
        this.id = id;
        this.result = result;
        this.options = options;
        this.limits = limits;
        this.caller = caller;
        this.used = options.prompt;
        this.reserved = result.granted();
    }

    /**
     * Opens a stream.
     *
     * @param caller whose streams are estimated together
     * @param limits those that the fallback may have a share of
     * @param ask asks for the first tokens
     */
    static CompletableFuture<BudgetStream> open(
            Limiter limiter, StreamOptions options, Object caller, List<Keyed> limits,
            Function<Request, CompletionStage<MultiResult>> ask) {
        Key id = options.newId();
        long first = limiter.estimates.of(caller, options.step);
        return ask.apply(options.opening(id, options.prompt + first)).toCompletableFuture().thenCompose(answer -> {
            boolean mayBegin = first > 1 && left(answer) > options.prompt; // with the rest of the budget
            return mayBegin ? ask.apply(options.opening(id, options.prompt + 1))
                    : CompletableFuture.completedFuture(answer);
        }).thenCompose(answer -> {
            if (answer.allowed()) {
                BudgetStream stream = new BudgetStream(limiter, id, answer, options, limits, caller);
                return CompletableFuture.completedFuture(stream);
            }
            BudgetSpentException spent = new BudgetSpentException(answer, 0);
            CompletableFuture<BudgetStream> denied = CompletableFuture.failedFuture(spent);
            boolean mayBeTaken = answer.cause() instanceof UnavailableException; // a reply may have been lost
            return mayBeTaken ? Settlement.of(limiter, id, null, answer).thenCompose(ended -> denied) : denied;
        });
    }

    /** The tokens that the limit has left by which the server denied; 0 after another answer. */
    private static long left(MultiResult answer) {
        int binding = answer.binding();
        boolean isDenied = !answer.allowed() && answer.source() == Source.SERVER;
        return isDenied && binding >= 0 && binding < answer.limits().size() ? answer.limits().get(binding).remaining() : 0;
    }

    /** The id of the reservation. */
    public String id() {
        return id.toString();
    }

    /** The answer to the first request. */
    public MultiResult result() {
        return result;
    }

    /** Tokens counted until now, with those of the prompt. */
    public long used() {
        return used;
    }

    /** All tokens that were granted. */
    public long reserved() {
        return reserved;
    }

    /**
     * Counts tokens of a chunk, before the chunk is passed on. It throws {@link BudgetSpentException} if the budget has
     * no room for them: then the chunk is not counted, and the stream is over. {@code add(0)} says that the model has
     * begun, so that the prompt is charged.
     */
    public void add(long tokens) {
        BlockingLimiter.join(adding(tokens));
    }

    /** {@link #add}, as a stage. */
    public CompletionStage<@Nullable Void> adding(long tokens) {
        Rates.count(tokens, "tokens", 0);
        return inTurn(() -> count(tokens));
    }

    /**
     * Passes on chunks, each once its tokens are counted. The source is closed if that fails, and with this stream, so
     * that a provider stops.
     */
    public <T> Stream<T> wrap(Stream<T> chunks, ToLongFunction<? super T> tokensOf) {
        source = chunks;
        return chunks.sequential().map(chunk -> counted(chunk, tokensOf));
    }

    /**
     * Passes on chunks: see {@link #wrap(Stream, ToLongFunction)}. A source that is {@link AutoCloseable} is closed.
     */
    public <T> Iterator<T> wrap(Iterator<T> chunks, ToLongFunction<? super T> tokensOf) {
        source = chunks instanceof AutoCloseable closeable ? closeable : null;
        return new Iterator<>() {
            @Override
            public boolean hasNext() {
                return chunks.hasNext();
            }

            @Override
            public T next() {
                return counted(chunks.next(), tokensOf);
            }
        };
    }

    private <T> T counted(T chunk, ToLongFunction<? super T> tokensOf) {
        try {
            add(tokensOf.applyAsLong(chunk));
            return chunk;
        } catch (RuntimeException e) {
            closeSource();
            throw e;
        }
    }

    private void closeSource() {
        AutoCloseable open = source;
        source = null;
        try {
            if (open != null) {
                open.close();
            }
        } catch (Exception e) { // what it delivered is charged all the same
            String what = "the source of the stream " + Rates.quote(id.text()) + " could not be closed";
            LOG.log(System.Logger.Level.WARNING, what, e);
        }
    }

    /**
     * Sets the true use of the whole call, with the prompt, such as the usage in a provider's last event, in place of
     * the tokens counted. It throws {@link InvalidException} below 0, and for another number than before.
     */
    public void settle(long tokens) {
        Rates.count(tokens, "tokens", 0);
        Long known = total;
        if (known != null && known != tokens) {
            throw new InvalidException("tokens: this was settled with " + known + " already, got " + tokens);
        }
        total = tokens;
    }

    /**
     * Closes the source, and charges what was used, or gives everything back if {@link #add} and {@link #settle} were
     * never called. Only the first call has an effect. It does not throw if the server is gone, which is no error of
     * the block: see {@link #error}.
     */
    @Override
    public void close() {
        closeSource();
        end().toCompletableFuture().join();
    }

    /** Charges what was used as {@link #close} does, as a stage, which does not fail. The source stays open. */
    public CompletionStage<@Nullable Void> end() {
        CompletableFuture<@Nullable Void> mine = new CompletableFuture<>();
        CompletableFuture<@Nullable Void> first = end.compareAndExchange(null, mine);
        if (first != null) {
            return first;
        }
        inTurn(this::settled).whenComplete((done, error) -> mine.complete(null));
        return mine;
    }

    private CompletableFuture<@Nullable Void> settled() {
        Long counted = hasBegun ? used : null;
        Long cost = total != null ? total : counted;
        if (stopped == null) {
            stopped = new InvalidException("tokens: the stream is closed, and counts no more");
        }
        if (cost != null) {
            limiter.estimates.add(caller, Math.max(0, cost - options.prompt));
        }
        return Settlement.of(limiter, id, cost, result).thenApply(ended -> {
            settlement = ended;
            return null;
        });
    }

    /** The charges of the limits, once the stream is closed; null if the server does not know the id. */
    public @Nullable List<Charge> charges() {
        Settlement ended = settlement;
        return ended == null ? null : ended.charges();
    }

    /** Why the stream was not charged, or its tokens not given back; null if that was done. */
    public @Nullable StintException error() {
        Settlement ended = settlement;
        return ended == null ? null : ended.error();
    }

    /** Takes a step after those before it, whatever came of them. */
    private CompletableFuture<@Nullable Void> inTurn(Supplier<CompletableFuture<@Nullable Void>> step) {
        CompletableFuture<@Nullable Void> mine = new CompletableFuture<>();
        CompletableFuture<@Nullable Void> done = turn.getAndSet(mine).thenCompose(before -> step.get());
        done.whenComplete((result, error) -> mine.complete(null));
        return done;
    }

    private CompletableFuture<@Nullable Void> count(long tokens) {
        if (stopped != null) {
            return CompletableFuture.failedFuture(stopped);
        }
        hasBegun = true;
        return makeRoom(tokens).thenCompose(room -> {
            used += tokens;
            return asksAhead && reserved - used < size() / 2 ? extendAhead() : CompletableFuture.completedFuture(null);
        }).whenComplete((done, error) -> {
            if (error != null) {
                stopped = Asker.errorOf(error);
            }
        });
    }

    /** Tokens of the next extension. They grow with the stream, so that a long one makes few. */
    private long size() {
        return Math.max(options.step, reserved / 4);
    }

    /** Extends the reservation until tokens fit. */
    private CompletableFuture<@Nullable Void> makeRoom(long tokens) {
        long need = used + tokens - reserved;
        if (need <= 0) {
            return CompletableFuture.completedFuture(null);
        }
        long asked = Math.max(need, size());
        return extend(asked).thenCompose(answer -> {
            if (!answer.allowed()) {
                throw new BudgetSpentException(answer, used);
            }
            asksAhead = answer.granted() >= asked;
            return makeRoom(tokens);
        });
    }

    /** Asks before the tokens are needed. If that fails, nothing is lost: they are asked for again in need. */
    private CompletableFuture<@Nullable Void> extendAhead() {
        long asked = size();
        return extend(asked).handle((answer, error) -> {
            asksAhead = error == null && answer.granted() >= asked;
            return null;
        });
    }

    private CompletableFuture<MultiResult> extend(long tokens) {
        Extension extension = Extension.of(next, tokens).upTo().remember(options.remember);
        return limiter.extend(id, extension, limits).thenApply(answer -> {
            if (answer == null) {
                throw Settlement.forgotten();
            }
            if (answer.allowed()) {
                reserved += answer.granted();
                next += answer.source() == Source.SERVER ? 1 : 0; // the server has not counted what the fallback granted
            }
            return answer;
        });
    }
}
