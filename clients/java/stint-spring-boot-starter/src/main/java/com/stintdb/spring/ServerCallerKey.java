package com.stintdb.spring;

import com.stintdb.client.web.Callers;
import java.net.InetSocketAddress;
import org.springframework.web.server.ServerWebExchange;
import reactor.core.publisher.Mono;

/** Identifies the caller of a request to WebFlux: the id for the policy. Define a bean of this type for another than the user or the address. */
@FunctionalInterface
public interface ServerCallerKey {
    /** The caller's id. Requests with the same id share a limit, also those without one. */
    Mono<String> of(ServerWebExchange exchange);

    /** The user's name, or the address of an anonymous caller. Behind proxies, the address is that of server.forward-headers-strategy. */
    static ServerCallerKey userOrAddress() {
        return exchange -> exchange.getPrincipal()
                .map(user -> "user:" + user.getName())
                .switchIfEmpty(Mono.fromSupplier(() -> {
                    InetSocketAddress remote = exchange.getRequest().getRemoteAddress();
                    return Callers.ofAddress(remote == null ? "" : remote.getAddress() == null ? remote.getHostString() : remote.getAddress().getHostAddress());
                }));
    }
}
