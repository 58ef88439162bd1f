// Package stinttest has servers for tests of programs that use package stint: a [Fake] in memory with a clock that the
// test sets, and a real server, started by [Start].
//
//	fake := stinttest.NewFake()
//	limiter := fake.Connect(stint.FailClosed())
//	defer limiter.Close()
//
//	limiter.Allow(ctx, "user:7", stint.PerMinute(1)) // allowed
//	limiter.Allow(ctx, "user:7", stint.PerMinute(1)) // denied
//	fake.Advance(time.Minute)
//	limiter.Allow(ctx, "user:7", stint.PerMinute(1)) // allowed
//
// The fake makes the server's decisions, by exact arithmetic: its tests play 3600 random requests with the server's
// replies. It knows the limits of package stint with their options, except fair shares and classes, their usage, policies that the test sets, and
// requests with an ID. A Keep or a MaxWait of several limits is an error, and so are commands that it lacks.
package stinttest
