package com.stintdb.spring;

import com.stintdb.client.web.Guard;
import java.nio.charset.StandardCharsets;
import org.springframework.core.Ordered;
import org.springframework.http.HttpStatusCode;
import org.springframework.http.server.reactive.ServerHttpResponse;
import org.springframework.web.server.ServerWebExchange;
import org.springframework.web.server.WebFilter;
import org.springframework.web.server.WebFilterChain;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;

/** {@link StintFilter} for WebFlux. Requests go on on threads of {@link Schedulers#parallel}: a limiter has one thread for all replies. */
public final class StintWebFilter implements WebFilter, Ordered {
    private final Guard guard;
    private final ServerCallerKey key;
    private final int order;

    /** A filter with its place among others. */
    public StintWebFilter(Guard guard, ServerCallerKey key, int order) {
        this.guard = guard;
        this.key = key;
        this.order = order;
    }

    @Override
    public int getOrder() {
        return order;
    }

    @Override
    public Mono<Void> filter(ServerWebExchange exchange, WebFilterChain chain) {
        return key.of(exchange)
                .defaultIfEmpty("")
                .flatMap(id -> Mono.fromCompletionStage(() -> guard.decide(id)))
                .publishOn(Schedulers.parallel())
                .flatMap(answer -> {
                    if (!answer.allowed()) {
                        return respond(exchange.getResponse(), answer);
                    }
                    answer.fields().forEach(exchange.getResponse().getHeaders()::set);
                    return chain.filter(exchange);
                });
    }

    /** Writes a denial. */
    static Mono<Void> respond(ServerHttpResponse response, Guard.Answer answer) {
        answer.fields().forEach(response.getHeaders()::set);
        response.setStatusCode(HttpStatusCode.valueOf(answer.status()));
        return response.writeWith(Mono.fromSupplier(() -> response.bufferFactory().wrap(answer.body().getBytes(StandardCharsets.UTF_8))));
    }
}
