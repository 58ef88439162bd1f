package com.stintdb.bucket4j;

import com.stintdb.client.Keyed;
import com.stintdb.client.LimitState;
import com.stintdb.client.Limiter;
import com.stintdb.client.MultiResult;
import com.stintdb.client.Request;
import com.stintdb.client.Result;
import io.github.bucket4j.ConsumptionProbe;
import io.github.bucket4j.EstimationProbe;
import io.github.bucket4j.distributed.remote.CommandResult;
import io.github.bucket4j.distributed.remote.RemoteCommand;
import io.github.bucket4j.distributed.remote.commands.AddTokensCommand;
import io.github.bucket4j.distributed.remote.commands.ConsumeAsMuchAsPossibleCommand;
import io.github.bucket4j.distributed.remote.commands.ConsumeIgnoringRateLimitsCommand;
import io.github.bucket4j.distributed.remote.commands.EstimateAbilityToConsumeCommand;
import io.github.bucket4j.distributed.remote.commands.ForceAddTokensCommand;
import io.github.bucket4j.distributed.remote.commands.GetAvailableTokensCommand;
import io.github.bucket4j.distributed.remote.commands.ReplaceConfigurationCommand;
import io.github.bucket4j.distributed.remote.commands.ReserveAndCalculateTimeToSleepCommand;
import io.github.bucket4j.distributed.remote.commands.ResetCommand;
import io.github.bucket4j.distributed.remote.commands.TryConsumeAndReturnRemainingTokensCommand;
import io.github.bucket4j.distributed.remote.commands.TryConsumeCommand;
import io.github.bucket4j.distributed.remote.commands.VerboseCommand;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;

/** Carries out Bucket4j's commands about a bucket. */
final class Commands {
    private static final long MOST_TOKENS = 1_000_000_000_000L; // of a request to Stint; no bucket has more
    private static final long LONGEST_DAYS = 3650; // of a reservation
    private static final int LONG_TYPE = CommandResult.ZERO.getResultTypeId();

    /** Commands that Stint has nothing of the same meaning for, and the remedies. */
    private static final Map<Class<?>, String> REFUSED = Map.of(
            ConsumeIgnoringRateLimitsCommand.class, "consumeIgnoringRateLimits: use Limiter.force of stint-client, whose answer is the debt in tokens",
            ForceAddTokensCommand.class, "forceAddTokens: a bucket of Stint never has more tokens than its capacity: use addTokens",
            ReplaceConfigurationCommand.class, "replaceConfiguration: Stint takes the limit from each request: build the bucket again with the other configuration",
            VerboseCommand.class, "asVerbose: Stint shows no state of Bucket4j: use tryConsumeAndReturnRemaining");

    private final Limiter limiter;
    private final Bandwidths bucket;

    Commands(Limiter limiter, Bandwidths bucket) {
        this.limiter = limiter;
        this.bucket = bucket;
    }

    /** The result of a command. It throws {@link UnsupportedOperationException} for those that cannot be carried out, before anything is sent. */
    CompletableFuture<? extends CommandResult<?>> carryOut(RemoteCommand<?> command) {
        if (command instanceof TryConsumeCommand c) {
            return ask(Request.of(tokens(c.getTokensToConsume())), result -> result.allowed() ? CommandResult.TRUE : CommandResult.FALSE);
        }
        if (command instanceof TryConsumeAndReturnRemainingTokensCommand c) {
            return ask(Request.of(tokens(c.getTokensToConsume())), Commands::consumption);
        }
        if (command instanceof EstimateAbilityToConsumeCommand c) {
            long n = tokens(c.getTokensToConsume());
            return ask(Request.of(n).peek(), result -> estimation(result, n));
        }
        if (command instanceof ReserveAndCalculateTimeToSleepCommand c) {
            return reserve(tokens(c.getTokensToConsume()), c.getWaitIfBusyNanosLimit());
        }
        if (command instanceof ConsumeAsMuchAsPossibleCommand c) {
            return consumeAsMuchAsPossible(c.getLimit());
        }
        if (command instanceof GetAvailableTokensCommand) {
            List<Keyed> looks = bucket.limits().stream().map(each -> each.cost(0)).toList();
            return future(limiter.all(looks, Request.one()), result -> CommandResult.success(remaining(result), LONG_TYPE));
        }
        if (command instanceof AddTokensCommand c) {
            return allOf(bucket.keys().stream().map(key -> limiter.refund(key, tokens(c.getTokensToAdd()))).toList()).thenApply(added -> CommandResult.NOTHING);
        }
        if (command instanceof ResetCommand) {
            return reset().thenApply(done -> CommandResult.NOTHING);
        }
        String why = REFUSED.getOrDefault(command.getClass(), command.getClass().getSimpleName() + ": Stint has no command of this meaning");
        throw new UnsupportedOperationException(why);
    }

    /** Resets all limits of the bucket. */
    CompletableFuture<Void> reset() {
        return allOf(bucket.keys().stream().map(limiter::reset).toList());
    }

    private static CompletableFuture<Void> allOf(List<? extends CompletionStage<?>> stages) {
        return CompletableFuture.allOf(stages.stream().map(CompletionStage::toCompletableFuture).toArray(CompletableFuture<?>[]::new));
    }

    /** A number of tokens as it can be sent: a larger one is as impossible. */
    private static long tokens(long n) {
        return Math.min(n, MOST_TOKENS);
    }

    private CompletableFuture<CommandResult<?>> ask(Request request, Function<MultiResult, CommandResult<?>> read) {
        return future(limiter.all(bucket.limits(), request), read);
    }

    private static <T> CompletableFuture<CommandResult<?>> future(CompletionStage<T> stage, Function<T, CommandResult<?>> read) {
        return stage.toCompletableFuture().thenApply(read);
    }

    private static CommandResult<?> consumption(MultiResult result) {
        long reset = TimeUnit.MILLISECONDS.toNanos(result.limits().stream().mapToLong(LimitState::resetAfterMs).max().orElse(0));
        ConsumptionProbe probe = result.allowed()
                ? ConsumptionProbe.consumed(remaining(result), reset)
                : ConsumptionProbe.rejected(remaining(result), nanos(result.retryAfterMs()), reset);
        return CommandResult.success(probe, ConsumptionProbe.SERIALIZATION_HANDLE);
    }

    private static CommandResult<?> estimation(MultiResult result, long n) {
        EstimationProbe probe = result.allowed()
                ? EstimationProbe.canBeConsumed(remaining(result) + n)
                : EstimationProbe.canNotBeConsumed(remaining(result), nanos(result.retryAfterMs()));
        return CommandResult.success(probe, EstimationProbe.SERIALIZATION_HANDLE);
    }

    /** Nanoseconds until the tokens that were reserved may be used; the largest number if there are none in time. */
    private CompletableFuture<CommandResult<?>> reserve(long n, long mostNanos) {
        long mostMs = Math.min(TimeUnit.NANOSECONDS.toMillis(mostNanos), TimeUnit.DAYS.toMillis(LONGEST_DAYS));
        Request request = mostMs > 0 ? Request.of(n).maxWait(Duration.ofMillis(mostMs)) : Request.of(n);
        return ask(request, result -> CommandResult.success(result.allowed() ? nanos(result.waitMs()) : Long.MAX_VALUE, LONG_TYPE));
    }

    private CompletableFuture<CommandResult<?>> consumeAsMuchAsPossible(long most) {
        if (bucket.limits().size() > 1) {
            throw new UnsupportedOperationException(
                    "tryConsumeAsMuchAsPossible: Stint takes a part of one limit only, and this bucket has " + bucket.limits().size() + " bandwidths: use tryConsume");
        }
        return future(
                limiter.allowAtMost(bucket.keys().get(0), bucket.limits().get(0).limit(), Math.min(most, bucket.capacity())),
                result -> CommandResult.success(result.granted(), LONG_TYPE));
    }

    /** The tokens that all limits have. */
    private static long remaining(MultiResult result) {
        return result.limits().stream().mapToLong(LimitState::remaining).min().orElse(0);
    }

    private static long nanos(long ms) {
        return ms == Result.NEVER ? Long.MAX_VALUE : TimeUnit.MILLISECONDS.toNanos(ms);
    }
}
