package com.stintdb.spring;

import com.stintdb.client.Result;
import com.stintdb.client.StintException;
import com.stintdb.client.web.Guard;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** A call of a {@link RateLimited} method was denied. Nothing was taken. */
public class RateLimitedException extends StintException {
    private final transient Guard.Answer answer;

    /** A denial by a policy. */
    public RateLimitedException(String policy, Guard.Answer answer) {
        super("rate limit " + policy + ": " + reason(answer), answer.result().cause());
        this.answer = answer;
    }

    private static String reason(Guard.Answer answer) {
        if (answer.status() == 503) {
            return "nobody counts at present, and the policy for that time denies";
        }
        return answer.result().retryAfterMs() == Result.NEVER ? "can never be granted" : "denied, ask again in " + answer.result().retryAfterMs() + " ms";
    }

    /** The time until the same call would be allowed if nobody else takes tokens, in whole milliseconds; null for never. */
    public @Nullable Duration retryAfter() {
        long ms = answer.result().retryAfterMs();
        return ms == Result.NEVER ? null : Duration.ofMillis(ms);
    }

    /** The response over HTTP: status, fields and body. */
    public Guard.Answer answer() {
        return answer;
    }
}
