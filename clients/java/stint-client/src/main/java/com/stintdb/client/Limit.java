package com.stintdb.client;

import com.stintdb.client.Algorithm.Form;
import com.stintdb.client.Algorithm.Option;
import com.stintdb.client.Limits.Numbers;
import com.stintdb.client.internal.Rates;
import java.time.Duration;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The number of tokens that may be taken, and the rate or window in which they come back. It never changes. Its methods throw
 * {@link InvalidException} for limits that the server refuses.
 */
public final class Limit {
    /** The largest weight of a member of a fair share. */
    public static final int MOST_WEIGHT = 1000;

    /** The most closed windows that {@link #history} keeps. */
    public static final int MOST_HISTORY = 36;

    /** The most segments of {@link #segments}. */
    public static final int MOST_SEGMENTS = 120;

    private final Algorithm algorithm;
    private final List<Object> words;
    private final Map<LimitOption, Object> options;
    private final List<Object> optionWords;
    final Numbers numbers;

    Limit(Algorithm algorithm, List<Object> words, Map<LimitOption, Object> options, Numbers numbers) {
        this.algorithm = algorithm;
        this.words = List.copyOf(words);
        this.options = options;
        this.optionWords = options.entrySet().stream()
                .flatMap(each -> each.getKey() == LimitOption.SPREAD ? Stream.of("SPREAD") : Stream.of(each.getKey().name(), each.getValue()))
                .toList();
        this.numbers = numbers;
    }

    /** A token bucket of n tokens a second, n at once. */
    public static Limit perSecond(long n) {
        return per(n, Duration.ofSeconds(1));
    }

    /** A token bucket of n tokens a minute, n at once. */
    public static Limit perMinute(long n) {
        return per(n, Duration.ofMinutes(1));
    }

    /** A token bucket of n tokens an hour, n at once. */
    public static Limit perHour(long n) {
        return per(n, Duration.ofHours(1));
    }

    /** A token bucket of n tokens in 24 hours, n at once. */
    public static Limit perDay(long n) {
        return per(n, Duration.ofDays(1));
    }

    /** A token bucket that is refilled evenly with n tokens in every period. It holds n tokens, or those of {@link #burst}. */
    public static Limit per(long n, Duration period) {
        long ms = Rates.milliseconds(period, "period");
        return Limits.bucket(Algorithm.TOKEN_BUCKET, n, Rates.count(n, "tokens", 1) + "/" + ms + "ms", new Numbers(n, n, ms));
    }

    /**
     * A fixed window: n tokens in each window of the calendar in UTC, "@minute", "@hour", "@day", "@week", "@month", "@quarter" or "@year", or in
     * windows such as "@15m" that are counted from 1970. Weeks begin on Monday.
     */
    public static Limit window(long n, String window) {
        return window(n, window, null, null);
    }

    /**
     * A fixed window of the calendar from a day on, in a time zone such as "Europe/Berlin", with another beginning: "6" or "13:40" is the time of a day,
     * "sunday" the day of a week, "17" the day of a month, both also with a time, as in "17T06:00", and "04-06" the date of a year or of one of its
     * quarters. A month without that day has it on its last.
     */
    public static Limit window(long n, String window, @Nullable String zone, @Nullable String from) {
        Limit limit = Limits.window(Algorithm.FIXED_WINDOW, n, window, Calendar.milliseconds(window));
        return new Limit(limit.algorithm, limit.words, Calendar.anchor(window, zone, from), limit.numbers);
    }

    /** A fixed window that begins with the first grant: n tokens in it. */
    public static Limit window(long n, Duration length) {
        long ms = Rates.milliseconds(length, "length");
        return Limits.window(Algorithm.FIXED_WINDOW, n, ms + "ms", ms);
    }

    /** A sliding window estimated from two counters: about n tokens in any span of this length. */
    public static Limit slidingWindow(long n, Duration length) {
        long ms = Rates.milliseconds(length, "length");
        return Limits.window(Algorithm.SLIDING_WINDOW, n, ms + "ms", ms);
    }

    /** An exact sliding window: at most n tokens in any span of this length. */
    public static Limit slidingLog(long n, Duration length) {
        long ms = Rates.milliseconds(length, "length");
        return Limits.window(Algorithm.SLIDING_LOG, n, ms + "ms", ms);
    }

    /** The limit of CL.THROTTLE, for keys shared with programs for redis-cell: maxBurst + 1 tokens, n more in every period of whole seconds. */
    public static Limit gcra(long maxBurst, long n, long seconds) {
        return Limits.gcra(maxBurst, n, seconds);
    }

    /** At most n holders at a time. One that does not {@link Limiter#release} within its time is dropped; the same holder again renews. */
    public static Limit concurrency(long n, Duration ttl, String holder) {
        long ms = Rates.milliseconds(ttl, "ttl");
        return Limits.places(n, ms + "ms", ms, holder);
    }

    /**
     * Credits that were bought: only {@link Limiter#addCredits} adds them, and a denial has {@link Result#needsPayment}. Among several limits it is the last.
     * {@link Policy#localShare} has no share of it, and denies.
     */
    public static Limit balance() {
        return new Limit(Algorithm.BALANCE, List.of(), Map.of(), new Numbers(0, 0, 1));
    }

    /**
     * A ban of callers who go on when they are denied: when the other limits of a call have denied so many requests within a window, it denies all of them
     * until the ban ends. It takes no tokens. It is for {@link Limiter#all}, and its key is the caller's. {@link Policy#localShare} bans nobody.
     */
    public static Limit penalty(long denials, Duration window, Duration ban) {
        return Limits.penalty(denials, Rates.milliseconds(window, "window") + "ms", Rates.milliseconds(ban, "ban") + "ms");
    }

    /**
     * The limit of a text: a rate such as "100/minute" or "10 per second", or a limit of RL.ALL without its key, such as "TB 20 10/s", "FW 1000 @day" or
     * "SL 100 1m". A rate is a token bucket that holds the tokens of a period, at least one.
     */
    public static Limit parse(String text) {
        return LimitText.parse(text);
    }

    /** The same rate with another capacity: the most tokens that can be taken at once. It is for token buckets. */
    public Limit burst(long capacity) {
        if (algorithm.form != Form.RATE) {
            throw new InvalidException("burst: is for token buckets, not for " + algorithm.command());
        }
        Limit limit = Limits.bucket(algorithm, capacity, rate(), numbers);
        return new Limit(algorithm, limit.words, options, limit.numbers);
    }

    /**
     * The same limit with a threshold, 1 to 100 percent: once that part of it is used, {@link Result#warn} is set, and the server publishes one message for
     * each window and key. It is not for GCRA, fair shares and adaptive limits.
     */
    public Limit warn(int percent) {
        if (!algorithm.warns) {
            throw new InvalidException("warn: is not for limits of " + algorithm.command());
        }
        if (percent < 1 || percent > 100) {
            throw new InvalidException("warn: must be a percentage between 1 and 100, got " + percent);
        }
        return with(LimitOption.WARN, percent + "%");
    }

    /** The same fixed window with so many closed ones kept, 1 to {@link #MOST_HISTORY}, for {@link Limiter#usage}. A request without it forgets them. */
    public Limit history(int windows) {
        if (algorithm != Algorithm.FIXED_WINDOW) {
            throw new InvalidException("history: is for fixed windows, not for " + algorithm.command());
        }
        if (windows < 1 || windows > MOST_HISTORY) {
            throw new InvalidException("history: must be an integer between 1 and " + MOST_HISTORY + ", got " + windows);
        }
        return with(LimitOption.HISTORY, windows);
    }

    /**
     * The same fixed window, which begins with "@", with the tokens that the one before had left, at most a percentage of the limit, 1 to 100. A request
     * without it ends it.
     */
    public Limit rollover(int percent) {
        if (algorithm != Algorithm.FIXED_WINDOW || !words.get(1).toString().startsWith("@")) {
            throw new InvalidException("rollover: is for fixed windows such as \"@month\", not for " + this);
        }
        if (percent < 1 || percent > 100) {
            throw new InvalidException("rollover: must be a percentage between 1 and 100, got " + percent);
        }
        return with(LimitOption.ROLLOVER, percent + "%");
    }

    /**
     * The same sliding window in 2 to {@link #MOST_SEGMENTS} segments: no window ever holds more than the limit, and tokens come back at most a segment late.
     * A key is limited with or without segments, and never by both.
     */
    public Limit segments(int segments) {
        if (algorithm != Algorithm.SLIDING_WINDOW) {
            throw new InvalidException("segments: are for sliding windows, not for " + algorithm.command());
        }
        if (segments < 2 || segments > MOST_SEGMENTS) {
            throw new InvalidException("segments: must be an integer between 2 and " + MOST_SEGMENTS + ", got " + segments);
        }
        return with(LimitOption.SEGMENTS, segments);
    }

    /**
     * The same limit with turns for denied callers, who then do not come back together: {@link Result#retryAfterMs} is the time at which there are tokens for
     * this caller, after all who were denied before. It is for buckets, queues and fixed windows.
     */
    public Limit spread() {
        if (!algorithm.hasTurns()) {
            throw new InvalidException("spread: is not for limits of " + algorithm.command());
        }
        return with(LimitOption.SPREAD, true);
    }

    /** The same penalty whose ban is twice as long each time, at most this long, for a caller who is soon banned again. */
    public Limit doubling(Duration longest) {
        return doubling(Rates.milliseconds(longest, "doubling") + "ms");
    }

    Limit doubling(String longest) {
        if (algorithm != Algorithm.PENALTY) {
            throw new InvalidException("doubling: is for penalties, not for " + algorithm.command());
        }
        String ban = words.get(2).toString();
        if (Rates.duration(longest).compareTo(Rates.duration(ban)) < 0) {
            throw new InvalidException("doubling: must be no shorter than the ban, " + ban + ", got " + longest);
        }
        return with(LimitOption.DOUBLING, longest);
    }

    private Limit with(LimitOption option, Object value) {
        Map<LimitOption, Object> all = new EnumMap<>(LimitOption.class);
        all.putAll(options);
        all.put(option, value);
        return new Limit(algorithm, words, all, numbers);
    }

    /** The rate as a queue: tokens go out one by one, evenly spaced, and at most this many requests wait. Use it with {@link Limiter#await}. */
    public Limit queue(long waiting) {
        mustBeBucket("queue");
        return Limits.bucket(Algorithm.LEAKY_QUEUE, waiting, rate(), numbers);
    }

    /** The share of a member with weight 1: see {@link #member(Key, int)}. */
    public Limit member(String name) {
        return member(name, 1);
    }

    /** The share of a member: see {@link #member(Key, int)}. */
    public Limit member(String name, int weight) {
        return member(Key.of(name), weight);
    }

    /**
     * The share of a member of a pool, whose tokens are those of this bucket, shared by weight, 1 to {@link #MOST_WEIGHT}. The key is that of the pool.
     * Take the name from authentication: each name counts as a member.
     */
    public Limit member(Key name, int weight) {
        mustBeBucket("member");
        return Limits.member(this, name, weight);
    }

    /** A limit whose rate follows {@link Limiter#report}, from least tokens in the period of this bucket up to its rate. */
    public Limit adaptive(long least) {
        mustBeBucket("adaptive");
        return Limits.adaptive(this, Rates.count(least, "least", 1) + "/" + (long) numbers.periodMs() + "ms", least);
    }

    String rate() {
        return words.get(1).toString();
    }

    private void mustBeBucket(String method) {
        if (algorithm != Algorithm.TOKEN_BUCKET) {
            throw new InvalidException(method + ": is for token buckets, not for " + algorithm.command());
        }
    }

    /** Throws {@link InvalidException} for an option that the algorithm's command does not take, and for a limit without a command. */
    void mustTake(@Nullable Option option) {
        if (algorithm == Algorithm.PENALTY) {
            throw new InvalidException("PENALTY is one of several limits: use it in all, beside those whose denials it counts");
        }
        if (option != null && !algorithm.options.contains(option)) {
            throw new InvalidException(algorithm.command() + " has no option " + option + ", got it for " + this);
        }
    }

    /** The limit of which {@link Policy#localShare} takes a part: all members or holders together, the lowest rate of an adaptive limit. */
    Limit shared() {
        return switch (algorithm) {
            case FAIR_SHARE, CONCURRENCY -> new Limit(algorithm, words.subList(0, 2), Map.of(), numbers);
            case ADAPTIVE -> new Limit(algorithm, words, Map.of(), new Numbers(numbers.capacity(), numbers.least(), numbers.periodMs()));
            default -> this;
        };
    }

    /** Whether the server lends tokens of it. */
    boolean isLendable() {
        return algorithm == Algorithm.TOKEN_BUCKET || (algorithm == Algorithm.FIXED_WINDOW && corrects());
    }

    /** Whether {@link Limiter#atMost} can lower it. */
    boolean corrects() {
        return algorithm.keeps && !options.containsKey(LimitOption.SEGMENTS) && !options.containsKey(LimitOption.ROLLOVER);
    }

    /** Its algorithm. */
    public Algorithm algorithm() {
        return algorithm;
    }

    /** The largest number that can be taken at once. */
    public long capacity() {
        return numbers.capacity();
    }

    /** Tokens that come back in {@link #periodMs}. */
    public double count() {
        return numbers.count();
    }

    /** Milliseconds; 30 days for a calendar month. */
    public double periodMs() {
        return numbers.periodMs();
    }

    /** Milliseconds until all tokens are back, rounded up; of a fixed window, its length. */
    public long fillTimeMs() {
        return (long) Math.ceil(algorithm == Algorithm.FIXED_WINDOW ? numbers.periodMs() : numbers.capacity() * numbers.periodMs() / numbers.count());
    }

    /** The arguments behind the key, in the limit's command and in a spec of RL.ALL: texts, integers and a {@link Key}. */
    public List<Object> words() {
        return words;
    }

    /** The words behind the tokens of the limit's command, and behind its spec in RL.ALL. */
    List<Object> optionWords() {
        return optionWords;
    }

    /** The option words of commands that deny nobody. */
    List<Object> countedWords() {
        return options.containsKey(LimitOption.SPREAD) ? optionWords.subList(0, optionWords.size() - 1) : optionWords;
    }

    /** Whether the limit has a threshold: {@link #warn}. */
    boolean warns() {
        return options.containsKey(LimitOption.WARN);
    }

    /** The limit as RL.ALL takes it, without its key. */
    @Override
    public String toString() {
        StringBuilder text = new StringBuilder(algorithm.spec());
        words.forEach(word -> text.append(' ').append(word));
        optionWords.forEach(word -> text.append(' ').append(word));
        return text.toString();
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof Limit limit && algorithm == limit.algorithm && words.equals(limit.words) && options.equals(limit.options);
    }

    @Override
    public int hashCode() {
        return Objects.hash(algorithm, words, options);
    }
}
