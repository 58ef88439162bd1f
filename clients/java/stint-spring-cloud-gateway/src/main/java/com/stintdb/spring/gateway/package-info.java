/** The limiter of Spring Cloud Gateway's filter RequestRateLimiter. */
@NullMarked
package com.stintdb.spring.gateway;

import org.jspecify.annotations.NullMarked;
