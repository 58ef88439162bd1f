package com.stintdb.client;

import com.stintdb.client.internal.Rates;
import java.util.List;
import java.util.Map;

/** Makes limits of numbers and of words for the server, and refuses those that the server would refuse. */
final class Limits {
    /**
     * The numbers of a limit.
     *
     * @param capacity the largest number that can be taken at once
     * @param count tokens that come back in the period
     * @param periodMs milliseconds; 30 days for a calendar month, 91 for a quarter, 365 for a year
     * @param least of an adaptive limit: the tokens that come back in a period at the lowest rate; otherwise the count
     */
    record Numbers(long capacity, double count, double periodMs, double least) {
        Numbers(long capacity, double count, double periodMs) {
            this(capacity, count, periodMs, count);
        }
    }

    private Limits() {}

    static Limit bucket(Algorithm algorithm, long tokens, String rate, Numbers refill) {
        long capacity = Rates.count(tokens, "capacity", 1) + (algorithm == Algorithm.LEAKY_QUEUE ? 1 : 0);
        return new Limit(algorithm, List.of(tokens, rate), Map.of(), new Numbers(capacity, refill.count, refill.periodMs));
    }

    static Limit window(Algorithm algorithm, long n, String text, double periodMs) {
        return new Limit(algorithm, List.of(Rates.count(n, "limit", 1), text), Map.of(), new Numbers(n, n, periodMs));
    }

    static Limit gcra(long maxBurst, long n, long seconds) {
        List<Object> words = List.of(Rates.count(maxBurst, "maxBurst", 0), Rates.count(n, "n", 1), Rates.count(seconds, "seconds", 1));
        return new Limit(Algorithm.GCRA, words, Map.of(), new Numbers(Rates.count(maxBurst + 1, "maxBurst + 1", 1), n, seconds * 1000.0));
    }

    static Limit places(long n, String text, double periodMs, String holder) {
        if (holder.isEmpty()) {
            throw new InvalidException("holder: needs a name");
        }
        return new Limit(Algorithm.CONCURRENCY, List.of(Rates.count(n, "limit", 1), text, holder), Map.of(), new Numbers(n, n, periodMs));
    }

    static Limit penalty(long denials, String window, String ban) {
        double periodMs = Rates.duration(window).doubleValue() / 1e6;
        Rates.duration(ban);
        return new Limit(
                Algorithm.PENALTY, List.of(Rates.count(denials, "denials", 1), window, ban), Map.of(), new Numbers(denials, denials, periodMs));
    }

    static Limit member(Limit pool, Key name, int weight) {
        if (name.isEmpty()) {
            throw new InvalidException("member: needs a name");
        }
        if (weight < 1 || weight > Limit.MOST_WEIGHT) {
            throw new InvalidException("weight: must be an integer between 1 and " + Limit.MOST_WEIGHT + ", got " + weight);
        }
        List<Object> words = List.of(pool.words().get(0), pool.words().get(1), name);
        return new Limit(Algorithm.FAIR_SHARE, words, weight == 1 ? Map.of() : Map.of(LimitOption.WEIGHT, weight), pool.numbers);
    }

    /** The limit whose rate is between this one and that of a bucket. */
    static Limit adaptive(Limit bucket, String rate, double least) {
        Numbers most = bucket.numbers;
        if (least > most.count) {
            throw new InvalidException("least: must be at most the highest rate, " + bucket.rate() + ", got " + rate);
        }
        List<Object> words = List.of(bucket.words().get(0), rate, bucket.rate());
        return new Limit(Algorithm.ADAPTIVE, words, Map.of(), new Numbers(most.capacity, most.count, most.periodMs, least));
    }
}
