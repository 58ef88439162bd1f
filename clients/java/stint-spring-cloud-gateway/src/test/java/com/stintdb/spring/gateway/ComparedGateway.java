package com.stintdb.spring.gateway;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.cloud.gateway.filter.ratelimit.KeyResolver;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import reactor.core.publisher.Mono;

/** A gateway of {@link Comparison}, in a process of its own. Its arguments are properties. */
@Configuration(proxyBeanMethods = false)
@EnableAutoConfiguration
public class ComparedGateway {
    @Bean
    KeyResolver user() {
        return exchange -> Mono.justOrEmpty(exchange.getRequest().getHeaders().getFirst("X-User"));
    }

    /** Starts it. */
    public static void main(String[] arguments) {
        SpringApplication.run(ComparedGateway.class, arguments);
    }
}
