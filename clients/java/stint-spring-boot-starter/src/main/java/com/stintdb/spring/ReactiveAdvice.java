package com.stintdb.spring;

import org.springframework.core.annotation.Order;
import org.springframework.web.bind.annotation.ControllerAdvice;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.server.ServerWebExchange;
import reactor.core.publisher.Mono;

/** {@link ServletAdvice} for WebFlux. */
@ControllerAdvice
@Order(0)
class ReactiveAdvice {
    @ExceptionHandler
    Mono<Void> answer(RateLimitedException denial, ServerWebExchange exchange) {
        return StintWebFilter.respond(exchange.getResponse(), denial.answer());
    }
}
