// Package stint asks a Stint server whether something may be done now, and decides what happens when the server cannot
// say.
//
//	limiter := stint.Connect([]string{"127.0.0.1:6379"}, stint.FailOpen())
//	defer limiter.Close()
//
//	result, err := limiter.Allow(ctx, "user:7", stint.PerSecond(10).Burst(20))
//	if err != nil {
//		return err // a mistake in the call, or ctx is over
//	}
//	if !result.Allowed {
//		return fmt.Errorf("too many requests, try again in %v", result.RetryAfter)
//	}
//
// # When Stint is slow or gone
//
// A call has a deadline of its own, 20 ms unless [Timeout] says otherwise, which holds whatever the connection does.
// After several failures in a row a circuit breaker opens, and calls are answered at once without asking, until Stint
// is seen to work again. All calls that Stint does not answer are answered by the limiter's [Policy]: [FailOpen],
// [FailClosed] or [LocalShare]. That is no error: err is nil, [Result].Source is [Fallback] or [Local], and
// [Result].Cause tells why. [Hooks] see all of it, and package otelstint makes metrics of them.
//
// # Each command is sent once
//
// A command whose reply is lost may have been carried out. It is not sent again, because that could take the tokens
// twice; the policy answers, and what was taken counts as spent. This holds also for a go-redis client that is
// configured to retry. It leaves a limit on the safe side: never more is let through than the limit says.
//
// # Concurrency
//
// A [Limiter] and everything else here may be used by many goroutines at once. Calls that come while others are on
// their way are sent together, in one pipeline.
package stint
