package com.stintdb.client;

/**
 * The state of one of several limits.
 *
 * @param limit the largest number that can be granted at once
 * @param remaining whole tokens left
 * @param resetAfterMs milliseconds until the key is at its full limit
 */
public record LimitState(long limit, long remaining, long resetAfterMs) {}
