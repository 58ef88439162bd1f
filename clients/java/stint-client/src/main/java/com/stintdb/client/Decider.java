package com.stintdb.client;

import com.stintdb.client.Algorithm.Option;
import com.stintdb.client.LocalShares.Asked;
import com.stintdb.client.internal.Asker;
import com.stintdb.client.internal.Rates;
import com.stintdb.client.spi.Driver;
import com.stintdb.client.spi.Time;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Writes commands, asks the server, and answers by the policy when the server does not. */
final class Decider {
    private static final System.Logger LOG = System.getLogger("com.stintdb.client");
    private static final int MOST_LIMITS = 64; // of RL.ALL
    private static final long TELL_EVERY = 10_000_000_000L; // nanoseconds
    private static final AtomicBoolean HAS_WARNED = new AtomicBoolean(); // in this process

    final Asker asker;
    final Time time;
    final Observer observer;
    private final Fallback fallback;
    private final Map<String, List<Limit>> assumed;
    private final Consumer<UnauthenticatedException> onRefusedLogin;
    private final AtomicLong told;

    Decider(LimiterBuilder settings, Driver driver) {
        this.time = driver.time();
        this.fallback = new Fallback(settings.whenDown, time);
        this.assumed = Map.copyOf(settings.assumed);
        this.onRefusedLogin = settings.onRefusedLogin;
        this.told = new AtomicLong(time.nanoTime() - TELL_EVERY);
        this.observer = new Observer(settings.onDecision);
        this.asker = settings.asker(driver);
    }

    /** Asks one limit. MaxWait is null, or words such as "250ms" for MAXWAIT. */
    CompletableFuture<Result> acquire(Key key, Limit limit, long tokens, @Nullable Option option, @Nullable String maxWait) {
        limit.mustTake(option);
        if (limit.algorithm().isOnePlace() && tokens != 1) {
            throw new InvalidException("tokens: " + limit.algorithm().command() + " asks for one place, got " + tokens);
        }
        Words words = new Words(limit.algorithm().command()).add(key).addAll(limit.words());
        if (!limit.algorithm().isOnePlace()) {
            words.add(Rates.count(tokens, "tokens", 1));
        }
        words.addAll(limit.optionWords());
        if (option != null) {
            words.add(option.name());
        }
        if (maxWait != null) {
            words.add(maxWait);
        }
        List<Asked> asked = List.of(new Asked(key.text(), limit, tokens));
        return answered(words, asker::ask, reply -> Result.of(reply, limit, tokens), error -> fallback.one(error, asked, tokens, option));
    }

    CompletableFuture<Result> acquire(TreeClass tree, long tokens, @Nullable Option option) {
        Words words = new Words("HT.ACQUIRE").add(tree.key()).addAll(tree.assured().words()).addAll(tree.ceiling().words());
        List<Asked> asked = new ArrayList<>(List.of(new Asked(tree.key().text(), tree.ceiling(), tokens)));
        for (Keyed node : tree.under()) {
            words.add("UNDER").add(node.key).addAll(node.limit.words());
            asked.add(new Asked(node.key.text(), node.limit, tokens));
        }
        words.add("TOKENS").add(Rates.count(tokens, "tokens", 1));
        if (option != null) {
            words.add(option.name());
        }
        return answered(words, asker::ask, reply -> Result.of(reply, tree.ceiling(), tokens), error -> fallback.one(error, asked, tokens, option));
    }

    CompletableFuture<MultiResult> all(List<Keyed> limits, Request request) {
        if (limits.isEmpty()) {
            throw new InvalidException("limits: all needs at least one");
        }
        if (limits.size() > MOST_LIMITS) {
            throw new InvalidException("limits: all takes at most " + MOST_LIMITS + " at once, got " + limits.size());
        }
        if (!request.fields.isEmpty()) {
            throw new InvalidException("fields: are for the keys of a policy, not for all, got " + request.fields.keySet());
        }
        if (request.show == Request.Show.WARN) {
            throw new InvalidException("showWarn: is for the limits of a policy, not for all");
        }
        Words words = new Words("RL.ALL");
        List<Asked> asked = new ArrayList<>();
        for (Keyed each : limits) {
            Limit limit = each.limit;
            if (each.isElse) {
                words.add("ELSE");
            }
            words.add(limit.algorithm().spec()).add(each.key).addAll(limit.words()).addAll(limit.optionWords());
            if (each.cost != null) {
                words.add("COST").add(each.cost);
            }
            words.keep(each.keep != null ? each.keep : limit.algorithm().keeps ? request.keep : null);
            asked.add(new Asked(each.key.text(), limit, each.tokens(request.tokens)));
        }
        return several(words.add("TOKENS").add(request.tokens).options(request), request, asked);
    }

    CompletableFuture<MultiResult> check(String policy, Key id, Request request) {
        Words words = checking(policy, id, request);
        StringBuilder caller = new StringBuilder();
        caller.append(policy).append('\0').append(id.text());
        request.fields.forEach((name, value) -> caller.append('\0').append(name.length()).append(' ').append(name).append(value.text()));
        List<Asked> asked = new ArrayList<>();
        for (Limit limit : assumed.getOrDefault(policy, List.of())) {
            asked.add(new Asked(asked.size() + " " + caller, limit, request.tokens));
        }
        return several(words, request, asked);
    }

    /** Asks whether the server decides by a policy. It takes nothing, and no fallback answers. */
    CompletableFuture<Void> verify(String policy, Key id) {
        return asker.askAtStart(checking(policy, id, Request.one().peek()).done()).thenAccept(reply -> {});
    }

    private static Words checking(String policy, Key id, Request request) {
        if (policy.isEmpty()) {
            throw new InvalidException("policy: needs a name");
        }
        Words words = new Words("RL.CHECK").add(policy).add(id).add(request.tokens).keep(request.keep).options(request);
        if (request.show == Request.Show.WARN) {
            words.add("WARN");
        }
        return words.fields(request.fields);
    }

    /** Extends a request. The limits are those that are known of it. */
    CompletableFuture<@Nullable MultiResult> extend(Key id, Extension extension, List<Keyed> limits) {
        List<Asked> asked = limits.stream()
                .filter(each -> each.cost == null)
                .map(each -> new Asked(each.key.text(), each.limit, each.tokens(extension.tokens)))
                .toList();
        return answered(
                extension.words(id), asker::askUntilAnswered, reply -> MultiResult.ofExtension(reply, endsWithBalance(asked)),
                error -> fallback.several(error, asked, extension.tokens, false));
    }

    private CompletableFuture<MultiResult> several(Words words, Request request, List<Asked> asked) {
        return answered(
                words, request.id == null ? asker::ask : asker::askUntilAnswered, reply -> MultiResult.of(reply, endsWithBalance(asked)),
                error -> fallback.several(error, asked, request.tokens, request.isPeek));
    }

    private static boolean endsWithBalance(List<Asked> asked) {
        return !asked.isEmpty() && asked.get(asked.size() - 1).limit().algorithm() == Algorithm.BALANCE;
    }

    /** The answer of the policy about one limit. */
    Result fallBack(StintException error, Key key, Limit limit, long tokens) {
        return fallback.one(error, List.of(new Asked(key.text(), limit, tokens)), tokens, null);
    }

    private <T extends @Nullable Object> CompletableFuture<T> answered(
            Words words, Function<byte[][], CompletableFuture<@Nullable Object>> ask, Function<@Nullable Object, T> read, Function<StintException, T> fallBack) {
        return ask.apply(words.done()).handle((reply, failure) -> {
            if (failure == null) {
                return read.apply(reply);
            }
            StintException error = Asker.errorOf(failure);
            if (!Asker.isUndecided(error)) {
                throw error;
            }
            tell(error);
            return fallBack.apply(error);
        });
    }

    /** Tells an operator that the fallback decides: once in a process, and again and again if that is because of the login. */
    private void tell(StintException error) {
        if (HAS_WARNED.compareAndSet(false, true)) {
            LOG.log(
                    System.Logger.Level.WARNING,
                    "Stint did not decide a request, so the fallback did: " + error.getMessage()
                            + ". Later ones are not logged one by one");
        }
        if (error instanceof UnauthenticatedException refused) {
            long now = time.nanoTime();
            long before = told.get();
            if (now - before >= TELL_EVERY && told.compareAndSet(before, now)) {
                onRefusedLogin.accept(refused);
            }
        }
    }
}
