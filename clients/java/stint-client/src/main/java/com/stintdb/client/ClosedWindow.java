package com.stintdb.client;

import java.time.Instant;

/**
 * The usage in a window that is over.
 *
 * @param start of the window
 * @param end of the window
 * @param used tokens
 * @param reserved tokens charged to requests with an id that were not settled
 */
public record ClosedWindow(Instant start, Instant end, long used, long reserved) {}
