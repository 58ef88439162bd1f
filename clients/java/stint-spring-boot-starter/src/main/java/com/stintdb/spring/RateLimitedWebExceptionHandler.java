package com.stintdb.spring;

import org.springframework.core.Ordered;
import org.springframework.web.server.ServerWebExchange;
import org.springframework.web.server.WebExceptionHandler;
import reactor.core.publisher.Mono;

/** Answers denials outside of annotated controllers of WebFlux, before Spring Boot's handler of errors. */
final class RateLimitedWebExceptionHandler implements WebExceptionHandler, Ordered {
    private static final int BEFORE_BOOT = -2;

    @Override
    public int getOrder() {
        return BEFORE_BOOT;
    }

    @Override
    public Mono<Void> handle(ServerWebExchange exchange, Throwable failure) {
        if (failure instanceof RateLimitedException denial && !exchange.getResponse().isCommitted()) {
            return StintWebFilter.respond(exchange.getResponse(), denial.answer());
        }
        return Mono.error(failure);
    }
}
