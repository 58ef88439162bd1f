package com.stintdb.client;

import com.stintdb.client.internal.Rates;
import java.time.Duration;

/**
 * More tokens for a request that was granted with an id, for {@link Limiter#extend}. It never changes: each method
 * returns another extension.
 */
public final class Extension {
    final long number;
    final long tokens;
    final boolean isUpTo;
    /** Milliseconds; 0 if the end stays. */
    final long rememberMs;
    final boolean isSplit;

    private Extension(long number, long tokens, boolean isUpTo, long rememberMs, boolean isSplit) {
        this.number = number;
        this.tokens = tokens;
        this.isUpTo = isUpTo;
        this.rememberMs = rememberMs;
        this.isSplit = isSplit;
    }

    /**
     * So many tokens more of each limit without a cost. The extensions of a request have the numbers 1, 2, 3 and so on:
     * the last one that was granted is answered again and takes nothing. It throws {@link InvalidException} below 1.
     */
    public static Extension of(long number, long tokens) {
        return new Extension(Rates.count(number, "number", 1), Rates.count(tokens, "tokens", 1), false, 0, false);
    }

    /** Takes the tokens that are there if they are fewer, at least one of each limit. */
    public Extension upTo() {
        return new Extension(number, tokens, true, rememberMs, isSplit);
    }

    /** The server remembers the request at least so long from now on; without it, the end stays. */
    public Extension remember(Duration time) {
        return new Extension(number, tokens, isUpTo, Rates.milliseconds(time, "remember"), isSplit);
    }

    /** Has {@link LimitState#granted} set if the last limit is a {@link Limit#balance}, to what the request and all its extensions took. */
    public Extension split() {
        return new Extension(number, tokens, isUpTo, rememberMs, true);
    }

    Words words(Key id) {
        Words words = new Words("RL.EXTEND").add(id).add(number).add(tokens);
        if (isUpTo) {
            words.add("UPTO");
        }
        if (rememberMs > 0) {
            words.add("FOR").add(rememberMs + "ms");
        }
        return isSplit ? words.add("SPLIT") : words;
    }
}
