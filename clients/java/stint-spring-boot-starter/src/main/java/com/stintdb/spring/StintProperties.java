package com.stintdb.spring;

import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * The properties stint.*.
 *
 * @param addresses The server's address, such as redis://127.0.0.1:6379, or those of some nodes of a cluster.
 * @param whenDown The decision while Stint does not answer: fail-open, fail-closed or local-share. It has no default.
 * @param share The part of each limit for this process under local-share, above 0 and at most 1.
 * @param timeout The longest time that a call waits for Stint, in whole milliseconds.
 * @param connectTimeout The longest time that the first calls wait for a connection, in whole milliseconds.
 * @param filter The filter for servlets or WebFlux.
 */
@ConfigurationProperties("stint")
public record StintProperties(
        @DefaultValue("redis://127.0.0.1:6379") List<String> addresses,
        @Nullable WhenDown whenDown,
        @Nullable Double share,
        @DefaultValue("20ms") Duration timeout,
        @DefaultValue("5s") Duration connectTimeout,
        @DefaultValue Filter filter) {
    /** The decision while Stint does not answer. */
    public enum WhenDown {
        /** Allows everything. */
        FAIL_OPEN,
        /** Denies everything. */
        FAIL_CLOSED,
        /** Gives this process a share of each limit. */
        LOCAL_SHARE
    }

    /**
     * The filter for servlets or WebFlux.
     *
     * @param policy The policy on the server that all requests are checked by. Without it, there is no filter.
     * @param order The filter's place among others. Put it behind the one that sets the user.
     */
    public record Filter(@Nullable String policy, @DefaultValue("0") int order) {}
}
