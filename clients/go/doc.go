// Package stint asks a Stint server whether something may be done now, and applies a policy when the server cannot
// decide.
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
// Every call has a deadline, 20 ms by default (see [Timeout]), which holds in every state of the connection. After
// several failures in a row a circuit breaker opens: calls are answered at once without a request to the server, until
// a probe finds that Stint works again. The limiter's [Policy] answers all calls that Stint does not answer:
// [FailOpen], [FailClosed] or [LocalShare]. That is no error: err is nil, [Result].Source is [Fallback] or [Local], and
// [Result].Cause is the reason. [Hooks] are called for all of it, and package otelstint makes metrics of them.
//
// # Each command is sent once
//
// A command whose reply is lost may have been carried out. It is not sent again, because that could take the tokens
// twice; the fallback decides, and tokens that the server took count as spent. This also holds for a go-redis client
// that is configured to retry. It errs on the safe side: the server never lets through more than the limit.
//
// A request with an ID is an exception: see [Request].ID. The server carries it out once, so it is sent again, within
// the timeout, when its reply is lost or the cluster loses its leader. [Limiter.Settle] and [Limiter.Cancel] are too.
//
// # Concurrency
//
// A [Limiter] and everything else here may be used by many goroutines at once. Calls made while others are in flight
// are sent together, in one pipeline.
package stint
