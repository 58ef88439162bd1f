package com.stintdb.spring;

import com.stintdb.client.web.Guard;
import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import org.springframework.core.Ordered;
import org.springframework.web.filter.OncePerRequestFilter;

/**
 * Checks each request by a policy on the server. Responses have the fields RateLimit and RateLimit-Policy; a denial is 429 with Retry-After and problem+json, or
 * 503 while nobody counts and the policy for that time denies.
 */
public final class StintFilter extends OncePerRequestFilter implements Ordered {
    private final Guard guard;
    private final CallerKey key;
    private final int order;

    /** A filter with its place among others. */
    public StintFilter(Guard guard, CallerKey key, int order) {
        this.guard = guard;
        this.key = key;
        this.order = order;
    }

    @Override
    public int getOrder() {
        return order;
    }

    @Override
    protected void doFilterInternal(HttpServletRequest request, HttpServletResponse response, FilterChain chain) throws ServletException, IOException {
        Guard.Answer answer = guard.decide(key.of(request)).toCompletableFuture().join();
        if (!answer.allowed()) {
            respond(response, answer);
            return;
        }
        answer.fields().forEach(response::setHeader);
        chain.doFilter(request, response);
    }

    /** Writes a denial. */
    static void respond(HttpServletResponse response, Guard.Answer answer) throws IOException {
        answer.fields().forEach(response::setHeader);
        response.setStatus(answer.status());
        response.getOutputStream().write(answer.body().getBytes(StandardCharsets.UTF_8));
    }
}
