package com.stintdb.spring.gateway;

import com.stintdb.client.InvalidException;
import com.stintdb.client.Limit;
import com.stintdb.client.Limiter;
import com.stintdb.client.Request;
import com.stintdb.client.StintException;
import com.stintdb.client.internal.Asker;
import com.stintdb.client.web.Callers;
import com.stintdb.client.web.Guard;
import com.stintdb.spring.RateLimitedException;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.springframework.cloud.gateway.event.FilterArgsEvent;
import org.springframework.cloud.gateway.filter.ratelimit.AbstractRateLimiter;
import org.springframework.cloud.gateway.support.ConfigurationService;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;

/**
 * Decides on requests of the gateway's filter RequestRateLimiter, by a policy on the server or by a limit of each caller, which the key resolver names.
 * Responses have the fields RateLimit and RateLimit-Policy, and denials Retry-After. The status of a denial is that of the filter, 429 by default; while nobody
 * counts and the policy of the limiter denies, it is 503. Requests go on on threads of {@link Schedulers#parallel}: a limiter has one thread for all replies.
 */
public final class StintRateLimiter extends AbstractRateLimiter<StintRateLimiter.Config> {
    /** The name of the arguments of a route: stint-rate-limiter.policy and so on. */
    public static final String CONFIGURATION_PROPERTY_NAME = "stint-rate-limiter";

    private static final System.Logger LOG = System.getLogger("com.stintdb.client");
    private static final String DEFAULT_FILTERS = "defaultFilters"; // the gateway's name for the arguments of spring.cloud.gateway.…default-filters
    private static final int NOBODY_COUNTS = 503;

    private final Limiter limiter;

    /** A limiter of routes. The service binds the arguments of routes that are properties. */
    public StintRateLimiter(Limiter limiter, ConfigurationService configuration) {
        super(Config.class, CONFIGURATION_PROPERTY_NAME, configuration);
        this.limiter = limiter;
    }

    /** The arguments of a route: a policy or a limit, and the tokens of a request. */
    public static final class Config {
        private @Nullable String policy;
        private @Nullable Limit limit;
        private long tokens = 1;

        /** No policy and no limit yet. */
        public Config() {}

        /** The policy on the server, null if there is a limit. */
        public @Nullable String getPolicy() {
            return policy;
        }

        /** Checks by a policy on the server. The id is the caller. */
        public void setPolicy(String policy) {
            if (policy.isBlank()) {
                throw new InvalidException("policy: needs the name of a policy on the server, got \"" + policy + "\"");
            }
            this.policy = policy;
        }

        /** The limit of each caller as a text, null if there is a policy. */
        public @Nullable String getLimit() {
            return limit == null ? null : limit.toString();
        }

        /** Checks by a limit of each caller in this route, such as "100/minute" or "FW 1000 @day": see {@link Limit#parse}. The key is ROUTE:CALLER. */
        public void setLimit(String limit) {
            this.limit = Limit.parse(limit);
        }

        /** The tokens of a request. */
        public long getTokens() {
            return tokens;
        }

        /** Takes so many tokens for a request, 1 by default. It throws {@link InvalidException} below 1. */
        public void setTokens(long tokens) {
            this.tokens = Request.of(tokens).tokens();
        }

        @Override
        public String toString() {
            return (policy != null ? "policy " + policy : "limit " + limit) + ", tokens " + tokens;
        }
    }

    /** Reads the arguments of a route. It throws {@link InvalidException} for a mistake in them, and logs an error if the server refuses checks by the policy. */
    @Override
    public void onApplicationEvent(FilterArgsEvent event) {
        boolean isOurs = event.getArgs().keySet().stream().anyMatch(name -> name.startsWith(CONFIGURATION_PROPERTY_NAME + "."));
        if (!isOurs) {
            return;
        }
        String route = event.getRouteId();
        super.onApplicationEvent(event);
        String policy = checked(route, getConfig().get(route)).policy;
        if (policy != null) {
            limiter.verifyPolicy(policy, Callers.ANONYMOUS).exceptionally(failure -> {
                StintException error = Asker.errorOf(failure);
                boolean isRefused = !Asker.isUndecided(error);
                String remedy = isRefused ? "; requests are denied until it is stored: RL.POLICY SET " + policy + " TB " + policy + ":{} 100 100/m" : "";
                LOG.log(isRefused ? System.Logger.Level.ERROR : System.Logger.Level.WARNING, "route " + route + ": policy \"" + policy + "\": " + error.getMessage() + remedy);
                return null;
            });
        }
    }

    private static Config checked(String route, @Nullable Config config) {
        if (config == null || (config.policy == null) == (config.limit == null)) {
            throw new InvalidException(
                    "route " + route + ": needs stint-rate-limiter.policy or stint-rate-limiter.limit in the arguments of RequestRateLimiter, not both, got "
                            + (config == null ? "none" : config.policy == null ? "none" : config.toString()));
        }
        return config;
    }

    @Override
    public Mono<Response> isAllowed(String routeId, String id) {
        return Mono.fromCompletionStage(() -> {
            Config config = checked(routeId, getConfig().getOrDefault(routeId, getConfig().get(DEFAULT_FILTERS)));
            Guard guard = config.policy != null ? Guard.byPolicy(limiter, config.policy) : Guard.byLimit(limiter, routeId, limitOf(config));
            return guard.decide(id, Request.of(config.tokens));
        }).publishOn(Schedulers.parallel()).flatMap(answer -> responseOf(routeId, answer));
    }

    private static Limit limitOf(Config config) {
        if (config.limit == null) {
            throw new IllegalStateException("a route has a policy or a limit");
        }
        return config.limit;
    }

    private static Mono<Response> responseOf(String route, Guard.Answer answer) {
        if (answer.status() == NOBODY_COUNTS) {
            return Mono.error(new RateLimitedException("of route " + route, answer)); // the starter answers it, with Retry-After
        }
        Map<String, String> fields = new HashMap<>(answer.fields());
        fields.remove("Content-Type"); // the gateway sends no body
        return Mono.just(new Response(answer.allowed(), fields));
    }
}
