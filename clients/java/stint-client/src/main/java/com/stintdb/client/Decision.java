package com.stintdb.client;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * One decision, as the listener of {@link LimiterBuilder#onDecision} sees it.
 *
 * @param operation the method that asked: allow, allowAtMost, peek, force, allowClass, peekClass, all, check, or each attempt of await
 * @param allowed whether the caller may go ahead
 * @param source who decided; null if the call failed
 * @param error why Stint did not decide, or what the call failed with; null if Stint decided
 * @param duration from the call to the decision
 */
public record Decision(String operation, boolean allowed, @Nullable Source source, @Nullable StintException error, Duration duration) {}
