package com.stintdb.client.web;

import com.stintdb.client.InvalidException;
import com.stintdb.client.Limit;
import com.stintdb.client.Limiter;
import com.stintdb.client.MultiResult;
import com.stintdb.client.Request;
import com.stintdb.client.Result;
import com.stintdb.client.Source;
import com.stintdb.client.StintException;
import com.stintdb.client.internal.Asker;
import java.util.Collection;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/** Decides on requests over HTTP, with the fields and the body of the response. A framework's filter gives it the key of the caller. */
public final class Guard {
    private static final System.Logger LOG = System.getLogger("com.stintdb.client");
    private static final String TYPES = "https://iana.org/assignments/http-problem-types#";
    private static final long RETRY_MS = 1000; // while nobody counts

    /**
     * The answer to a request.
     *
     * @param result the decision; of a policy's limits, that of the tightest
     * @param status 200, or of a denial: 429, or 503 while nobody counts and the fallback denies
     * @param fields of the response, in both cases
     * @param body of a denial: the problem details of RFC 9457
     */
    public record Answer(Result result, int status, Map<String, String> fields, String body) {
        /** Whether the application answers the request. */
        public boolean allowed() {
            return result.allowed();
        }
    }

    private final Limiter limiter;
    private final String name;
    private final @Nullable Limit limit;
    private final @Nullable String policy;
    private final Set<FieldStyle> styles;

    private Guard(Limiter limiter, String name, @Nullable Limit limit, @Nullable String policy, Set<FieldStyle> styles) {
        if (name.isEmpty()) {
            throw new InvalidException("name: needs one, for the fields of responses");
        }
        this.limiter = limiter;
        this.name = name;
        this.limit = limit;
        this.policy = policy;
        this.styles = styles;
    }

    /** A guard by a limit of each caller. Its keys begin with the name and a colon. */
    public static Guard byLimit(Limiter limiter, String name, Limit limit) {
        return new Guard(limiter, name, limit, null, FieldStyle.USUAL);
    }

    /** A guard by a policy that is stored on the server. The key is the id of its caller. */
    public static Guard byPolicy(Limiter limiter, String policy) {
        return new Guard(limiter, policy, null, policy, FieldStyle.USUAL);
    }

    /** The same guard with other fields in responses than DRAFT_10 and X_RATELIMIT, or with none. Retry-After is always sent. */
    public Guard withFields(Collection<FieldStyle> styles) {
        return new Guard(limiter, name, limit, policy, FieldStyle.set(styles));
    }

    /**
     * Decides on a request of a caller for one token. Callers with the key "" share one limit: for a policy they are "anonymous". The stage does not fail
     * for errors of Stint, nor for the key null: they are logged, and denials.
     */
    public CompletionStage<Answer> decide(@Nullable String key) {
        return decide(key, Request.one());
    }

    /** Decides on a request: by a limit, only its tokens count; by a policy, also its fields, of which those that are empty are "anonymous". */
    public CompletionStage<Answer> decide(@Nullable String key, Request request) {
        return ask(key, request).handle((result, failure) -> {
            if (failure == null) {
                Map<String, String> fields = Fields.of(styles, name, result, limit);
                return result.allowed() ? new Answer(result, 200, fields, "") : denied(result, fields);
            }
            StintException error = Asker.errorOf(failure);
            LOG.log(System.Logger.Level.ERROR, "rate limit " + name + ": " + error.getMessage());
            Result unknown = new Result(false, 0, 0, 0, RETRY_MS, 0, 0, Source.FALLBACK, error);
            return denied(unknown, Fields.of(styles, name, unknown, limit));
        });
    }

    private CompletionStage<Result> ask(@Nullable String key, Request request) {
        if (key == null) {
            return CompletableFuture.failedFuture(new InvalidException("the key of the request is null; return \"\" for one limit of all such requests"));
        }
        if (policy != null) {
            return limiter.check(policy, key.isEmpty() ? Callers.ANONYMOUS : key, request.fieldsOr(Callers.ANONYMOUS).split()).thenApply(MultiResult::tightest);
        }
        Limit own = limit;
        if (own == null) {
            throw new IllegalStateException("a guard has a limit or a policy");
        }
        return limiter.allow(name + ":" + key, own, request.tokens());
    }

    private Answer denied(Result result, Map<String, String> fields) {
        boolean isNever = result.retryAfterMs() == Result.NEVER;
        if (!isNever) {
            fields.put("Retry-After", Long.toString(Math.max(1, Fields.wholeSeconds(result.retryAfterMs()))));
        }
        fields.put("Content-Type", "application/problem+json");
        fields.put("Cache-Control", "no-store");
        if (result.source() == Source.FALLBACK) {
            String body = "{\"type\":\"" + TYPES + "temporary-reduced-capacity\",\"title\":\"Requests cannot be counted at present\",\"status\":503}";
            return new Answer(result, 503, fields, body);
        }
        if (result.needsPayment()) {
            String body = "{\"type\":\"about:blank\",\"title\":\"Payment Required\",\"status\":402,"
                    + "\"detail\":\"The balance has fewer credits than this request needs, and waiting does not help.\","
                    + "\"violated-policies\":[" + json(name) + "]}";
            return new Answer(result, 402, fields, body);
        }
        String detail = isNever ? ",\"detail\":\"This request costs more than the limit of " + result.limit() + ".\"" : "";
        String body = "{\"type\":\"" + TYPES + "quota-exceeded\",\"title\":\"Too many requests\",\"status\":429" + detail + ",\"violated-policies\":[" + json(name) + "]}";
        return new Answer(result, 429, fields, body);
    }

    /** A string of JSON. */
    private static String json(String text) {
        StringBuilder json = new StringBuilder("\"");
        for (char c : text.toCharArray()) {
            if (c < 32 || c > 126) {
                json.append(String.format("\\u%04x", (int) c));
            } else {
                json.append(c == '"' || c == '\\' ? "\\" : "").append(c);
            }
        }
        return json.append('"').toString();
    }
}
