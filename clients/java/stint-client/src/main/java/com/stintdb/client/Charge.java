package com.stintdb.client;

/**
 * The amount that one limit of a settled request is charged, and its state.
 *
 * @param charged tokens
 * @param limit the largest number that can be granted at once
 * @param remaining whole tokens left; below zero if more was charged than there was
 * @param resetAfterMs milliseconds until the key is at its full limit
 */
public record Charge(long charged, long limit, long remaining, long resetAfterMs) {}
