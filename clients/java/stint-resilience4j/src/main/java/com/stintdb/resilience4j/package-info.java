/** Resilience4j's RateLimiter and its registry, decided by Stint for all processes together. */
@NullMarked
package com.stintdb.resilience4j;

import org.jspecify.annotations.NullMarked;
