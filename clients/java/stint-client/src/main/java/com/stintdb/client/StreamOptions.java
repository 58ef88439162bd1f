package com.stintdb.client;

import com.stintdb.client.internal.Rates;
import java.time.Duration;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** The settings of a {@link BudgetStream}. They never change: each method returns others. */
public final class StreamOptions {
    private static final long MOST_STEP = 1_000_000_000;
    private static final StreamOptions USUAL = new StreamOptions(0, 256, Duration.ofMinutes(10), null, Request.one());

    final long prompt;
    final long step;
    final Duration remember;
    private final @Nullable Key id;
    private final Request request;

    private StreamOptions(long prompt, long step, Duration remember, @Nullable Key id, Request request) {
        this.prompt = prompt;
        this.step = step;
        this.remember = remember;
        this.id = id;
        this.request = request;
    }

    /** The usual settings. */
    public static StreamOptions usual() {
        return USUAL;
    }

    /** Tokens that the stream uses from its beginning, such as those of the prompt: 0 by default. */
    public StreamOptions prompt(long tokens) {
        return new StreamOptions(Rates.count(tokens, "prompt", 0), step, remember, id, request);
    }

    /**
     * Tokens of an extension, and of the first reservation of a caller whose streams are not known yet: 256 by default,
     * at most 10<sup>9</sup>.
     */
    public StreamOptions step(long tokens) {
        if (Rates.count(tokens, "step", 1) > MOST_STEP) {
            throw new InvalidException("step: must be at most " + MOST_STEP + ", got " + tokens);
        }
        return new StreamOptions(prompt, tokens, remember, id, request);
    }

    /** How long the server remembers the reservation after the last extension: 10 minutes by default. */
    public StreamOptions remember(Duration time) {
        Rates.milliseconds(time, "remember");
        return new StreamOptions(prompt, step, time, id, request);
    }

    /**
     * The id of the reservation: "stream:" and a UUID by default. In a cluster with groups it needs the hash tag of the
     * keys.
     */
    public StreamOptions id(String id) {
        return new StreamOptions(prompt, step, remember, Key.of(id), request);
    }

    /** Granted only if so much remains of each limit. */
    public StreamOptions keep(Keep keep) {
        return new StreamOptions(prompt, step, remember, id, request.keep(keep));
    }

    /** The value of a {name} in the keys of a policy, such as a tenant. */
    public StreamOptions field(String name, String value) {
        return new StreamOptions(prompt, step, remember, id, request.field(name, value));
    }

    /** The id, or another one at each call. */
    Key newId() {
        return id == null ? Key.of("stream:" + UUID.randomUUID()) : id;
    }

    /** The request for the first tokens. */
    Request opening(Key id, long tokens) {
        return request.tokens(tokens).id(id, remember);
    }
}
