package com.stintdb.client;

import java.time.Duration;

/** A program that prints the source of its first call, and of two more. Its arguments are an address, and the timeout in milliseconds. */
final class FirstCall {
    private FirstCall() {}

    public static void main(String[] arguments) {
        Duration timeout = Duration.ofMillis(Long.parseLong(arguments[1]));
        try (Limiter limiter = Limiter.builder(Policy.failOpen(), arguments[0]).timeout(timeout).connectTimeout(Duration.ofSeconds(30)).build()) {
            for (int i = 0; i < 3; i++) {
                System.out.println(limiter.blocking().allow("first", Limit.perSecond(1_000_000)).source());
            }
        }
    }
}
