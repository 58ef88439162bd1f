package com.stintdb.kafka;

import com.stintdb.client.UnavailableException;
import com.stintdb.client.UnavailableException.Reason;
import com.stintdb.client.spi.Driver;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/** A server in memory that lends tokens of buckets at the times of the test. */
final class FakeLoans implements Driver {
    private static final class Bucket {
        double used;
        long lent;
        long at;
        final Map<String, long[]> loans = new HashMap<>(); // tokens and number
    }

    private final LongSupplier clock; // milliseconds
    private final Map<String, Bucket> buckets = new HashMap<>();
    private final Deque<Answer> answers = new ArrayDeque<>(); // that are under way
    boolean isDown;
    int delayMs; // of each answer
    int commands;

    private record Answer(long at, CompletableFuture<@Nullable Object> stage, Object reply) {}

    FakeLoans(LongSupplier clock) {
        this.clock = clock;
    }

    /** RL.LEND key TB capacity rate/1000ms tokens holder number previous LEFT left FOR time, RL.RETURN key holder number previous left, and PING. */
    @Override
    public CompletableFuture<@Nullable Object> send(byte[][] words) {
        String[] word = Arrays.stream(words).map(each -> new String(each, StandardCharsets.UTF_8)).toArray(String[]::new);
        commands++;
        if (isDown) {
            return CompletableFuture.failedFuture(new UnavailableException(Reason.CONNECTION, "down"));
        }
        Object reply = switch (word[0]) {
            case "RL.LEND" -> lend(word);
            case "RL.RETURN" -> operate(buckets.get(word[1]), word[2], Long.parseLong(word[3]), 0, Long.parseLong(word[5]), 0);
            default -> "PONG";
        };
        if (delayMs == 0) {
            return CompletableFuture.completedFuture(reply);
        }
        Answer answer = new Answer(clock.getAsLong() + delayMs, new CompletableFuture<>(), reply);
        answers.add(answer);
        return answer.stage;
    }

    /** Delivers the answers whose time has come. */
    void answer() {
        while (!answers.isEmpty() && answers.getFirst().at <= clock.getAsLong()) {
            Answer answer = answers.removeFirst();
            answer.stage.complete(answer.reply);
        }
    }

    private List<Long> lend(String[] word) {
        Bucket bucket = buckets.computeIfAbsent(word[1], key -> new Bucket());
        long capacity = Long.parseLong(word[3]);
        double rate = Double.parseDouble(word[4].split("/")[0]) / 1000;
        bucket.used = Math.max(0, bucket.used - rate * (clock.getAsLong() - bucket.at));
        bucket.at = clock.getAsLong();
        long left = Long.parseLong(word[10]);
        return operate(bucket, word[6], Long.parseLong(word[7]), left, 0, Math.min(Long.parseLong(word[5]), available(bucket, capacity, word[6], left) / 8));
    }

    private static long available(Bucket bucket, long capacity, String holder, long left) {
        long spent = bucket.loans.getOrDefault(holder, new long[2])[0] - left;
        return (long) (capacity - bucket.used - spent - (bucket.lent - spent));
    }

    private static List<Long> operate(Bucket bucket, String holder, long number, long left, long back, long granted) {
        long before = bucket.loans.getOrDefault(holder, new long[2])[0];
        bucket.used += before - left - back;
        bucket.lent += left + granted - before;
        bucket.loans.put(holder, new long[] {left + granted, number});
        return List.of(granted, 0L, 0L, left + granted, left + granted == 0 ? 0 : number);
    }

    /** The tokens that are lent. */
    long lent() {
        return buckets.values().stream().mapToLong(bucket -> bucket.lent).sum();
    }

    @Override
    public void close() {}

    @Override
    public Executor executor() {
        return Runnable::run;
    }
}
