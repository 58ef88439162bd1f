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
// The fake knows token buckets, fixed windows with no option but Rollover, sliding windows in Segments, balances whose
// credits do not expire, several of them at once, policies that the test sets, refunds and resets. It makes the server's
// decisions on them, by exact arithmetic: its tests play 1,800 random requests with the server's replies. To everything
// else it answers with an error that says so. A test of an adaptive limit, a reservation or another feature runs on the
// real server:
//
//	limiter := stinttest.Connect(t, stint.FailClosed())
package stinttest
