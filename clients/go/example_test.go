package stint_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/redis/go-redis/v9"

	stint "github.com/stintdb/stint/clients/go"
)

// exampleLimiter is a limiter on the server of the tests, with time enough for a machine that is busy.
func exampleLimiter() *stint.Limiter {
	return stint.Connect([]string{address}, stint.FailClosed(), stint.Timeout(30*time.Second))
}

func Example() {
	limiter := stint.Connect([]string{address}, stint.FailOpen(), stint.Timeout(30*time.Second))
	defer limiter.Close()
	limit := stint.PerHour(1).Burst(2)
	for range 3 {
		result, err := limiter.Allow(context.Background(), "example:user:7", limit)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(result.Allowed, result.Remaining, result.RetryAfter.Round(time.Hour))
	}
	// Output:
	// true 1 0s
	// true 0 0s
	// false 0 1h0m0s
}

func ExampleNew() {
	rdb := redis.NewClient(&redis.Options{Addr: address}) // the application's
	defer rdb.Close()
	limiter := stint.New(rdb, stint.FailOpen(), stint.Timeout(30*time.Second))
	defer limiter.Close()
	result, err := limiter.Allow(context.Background(), "example:new", stint.PerSecond(10))
	fmt.Println(result.Allowed, result.Source, err)
	// Output: true server <nil>
}

func ExampleConnect() {
	limiter := stint.Connect([]string{"10.0.0.1:6379", "10.0.0.2:6379", "10.0.0.3:6379"}, stint.LocalShare(1.0/8),
		stint.ClientOptions(func(o *redis.Options) { o.Username, o.Password = "api", "secret" }))
	defer limiter.Close()
	fmt.Println(limiter.Open())
	// Output: false
}

func ExampleLimiter_With() {
	limiter := exampleLimiter()
	defer limiter.Close()
	logins := limiter.With(stint.WhenDown(stint.FailClosed()), stint.Timeout(30*time.Second))
	pages := limiter.With(stint.WhenDown(stint.FailOpen()))
	login, _ := logins.Allow(context.Background(), "example:login:7", stint.PerMinute(5))
	page, _ := pages.Allow(context.Background(), "example:page:7", stint.PerSecond(50))
	fmt.Println(login.Allowed, page.Allowed)
	// Output: true true
}

// What happens while nothing answers at the address.
func ExamplePolicy() {
	for _, policy := range []stint.Policy{stint.FailOpen(), stint.FailClosed(), stint.LocalShare(0.5)} {
		limiter := stint.Connect([]string{"127.0.0.1:1"}, policy)
		for range 2 {
			result, err := limiter.Allow(context.Background(), "k", stint.PerMinute(2))
			fmt.Println(policy, result.Allowed, result.Source, errors.Is(result.Cause, stint.ErrUnavailable), err)
		}
		limiter.Close()
	}
	// Output:
	// FailOpen() true fallback true <nil>
	// FailOpen() true fallback true <nil>
	// FailClosed() false fallback true <nil>
	// FailClosed() false fallback true <nil>
	// LocalShare(0.5) true local true <nil>
	// LocalShare(0.5) false local true <nil>
}

func ExampleHooks() {
	limiter := stint.Connect([]string{address}, stint.FailOpen(), stint.Timeout(30*time.Second), stint.WithHooks(stint.Hooks{
		Decision: func(_ context.Context, d stint.Decision) { fmt.Println(d.Operation, d.Key, d.Allowed, d.Source, d.Err) },
		Breaker:  func(open bool, cause error) { fmt.Println("circuit breaker open:", open, cause) },
	}))
	defer limiter.Close()
	limiter.Allow(context.Background(), "example:hooks", stint.PerSecond(10))
	// Output: Allow example:hooks true server <nil>
}

func ExampleLimiter_AllowN() {
	limiter := exampleLimiter()
	defer limiter.Close()
	limit := stint.Window(1000, stint.Starting(24*time.Hour))
	for _, n := range []int64{800, 300, 2000} {
		result, err := limiter.AllowN(context.Background(), "example:allown", limit, n)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(result.Allowed, result.Granted, result.Remaining, result.RetryAfter == stint.Never)
	}
	// Output:
	// true 800 200 false
	// false 0 200 false
	// false 0 200 true
}

func ExampleLimiter_AllowAtMost() {
	limiter := exampleLimiter()
	defer limiter.Close()
	result, err := limiter.AllowAtMost(context.Background(), "example:batch", stint.PerHour(5), 8)
	fmt.Println(result.Granted, err)
	// Output: 5 <nil>
}

// The cost of a call to a language model is known when it is over: unused tokens of the reservation go back.
func ExampleLimiter_Refund() {
	limiter := exampleLimiter()
	defer limiter.Close()
	ctx, limit := context.Background(), stint.Window(60_000, stint.Starting(time.Hour))
	if _, err := limiter.AllowN(ctx, "example:llm", limit, 8000); err != nil {
		log.Fatal(err)
	}
	remaining, _, err := limiter.Refund(ctx, "example:llm", 2500)
	fmt.Println(remaining, err)
	// Output: 54500 <nil>
}

func ExampleLimiter_Force() {
	limiter := exampleLimiter()
	defer limiter.Close()
	ctx, limit := context.Background(), stint.Window(10, stint.Starting(time.Hour))
	result, err := limiter.Force(ctx, "example:upload", limit, 14)
	fmt.Println(result.Remaining, err)
	// Output: -4 <nil>
}

func ExampleLimiter_Peek() {
	limiter := exampleLimiter()
	defer limiter.Close()
	result, err := limiter.Peek(context.Background(), "example:peek", stint.PerHour(10), 3)
	fmt.Println(result.Allowed, result.Remaining, err)
	// Output: true 7 <nil>
}

func ExampleLimiter_Reset() {
	limiter := exampleLimiter()
	defer limiter.Close()
	ctx, limit := context.Background(), stint.PerHour(1)
	limiter.Allow(ctx, "example:reset", limit)
	err := limiter.Reset(ctx, "example:reset")
	result, _ := limiter.Allow(ctx, "example:reset", limit)
	fmt.Println(result.Allowed, err)
	// Output: true <nil>
}

func ExampleLimiter_All() {
	limiter := exampleLimiter()
	defer limiter.Close()
	for range 2 {
		result, err := limiter.All(context.Background(),
			stint.On("example:all:user:7", stint.PerHour(10)),
			stint.On("example:tenant:acme", stint.PerHour(1)))
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(result.Allowed, result.Binding, result.Limits[0].Remaining)
	}
	// Output:
	// true -1 9
	// false 1 9
}

func ExampleLimiter_Check() {
	limiter := exampleLimiter()
	defer limiter.Close()
	rdb := redis.NewClient(&redis.Options{Addr: address})
	defer rdb.Close()
	ctx := context.Background()
	rdb.Do(ctx, "RL.POLICY", "SET", "example", "TB", "example:{}", 2, "2/h") // once, by the operator of the service
	result, err := limiter.Check(ctx, "example", "7")
	fmt.Println(result.Allowed, result.Limits[0].Remaining, err)
	// Output: true 1 <nil>
}

// One request of 8,000 tokens, which leaves a tenth of the tokens to more important ones.
func ExampleKeyed_Cost() {
	limiter := exampleLimiter()
	defer limiter.Close()
	requests := stint.On("example:requests", stint.PerHour(20)).Cost(1)
	tokens := stint.On("example:tokens", stint.PerHour(60_000)).Keep(stint.KeepPercent(10))
	for _, n := range []int64{8_000, 50_000} {
		result, err := limiter.AllN(context.Background(), n, requests, tokens)
		fmt.Println(result.Allowed, result.Binding, result.Limits[0].Remaining, err)
	}
	// Output:
	// true -1 19 <nil>
	// false 1 19 <nil>
}

func ExampleLimiter_CheckWith() {
	limiter := exampleLimiter()
	defer limiter.Close()
	rdb := redis.NewClient(&redis.Options{Addr: address})
	defer rdb.Close()
	ctx := context.Background()
	rdb.Do(ctx, "RL.POLICY", "SET", "llm", "TB", "requests:{tenant}:{}", 20, "20/h", "COST", 1, "TB", "tokens:{tenant}", 60_000, "60000/h")
	result, err := limiter.CheckWith(ctx, "llm", "7", stint.Request{
		Tokens: 8_000, Fields: map[string]string{"tenant": "acme"}, Keep: stint.KeepPercent(30),
	})
	fmt.Println(result.Allowed, result.Limits[0].Remaining, err)
	// Output: true 19 <nil>
}

func ExampleLimiter_Settle() {
	limiter := exampleLimiter()
	defer limiter.Close()
	ctx := context.Background()
	budget := stint.On("budget:acme", stint.Window(60_000, stint.Starting(time.Hour)))
	// Reserve the most that the call may cost. The ID makes it safe to ask again.
	call := stint.Request{Tokens: 8_000, ID: "call:81", Remember: 10 * time.Minute}
	result, err := limiter.AllWith(ctx, call, budget)
	fmt.Println(result.Allowed, result.Limits[0].Remaining, err)
	// The call needed 5,500 tokens.
	charges, err := limiter.Settle(ctx, call.ID, 5_500)
	fmt.Println(charges[0].Charged, charges[0].Remaining, err)
	// Output:
	// true 52000 <nil>
	// 5500 54500 <nil>
}

func ExampleAssumePolicy() {
	limiter := stint.Connect([]string{"127.0.0.1:1"}, stint.LocalShare(0.25), stint.AssumePolicy("api", stint.PerHour(8)))
	defer limiter.Close()
	for range 3 {
		result, err := limiter.Check(context.Background(), "api", "7")
		fmt.Println(result.Allowed, result.Source, err)
	}
	// Output:
	// true local <nil>
	// true local <nil>
	// false local <nil>
}

func ExampleLimiter_Wait() {
	limiter := exampleLimiter()
	defer limiter.Close()
	limit := stint.PerSecond(100).Queue(10) // one every 10 ms
	for i := range 3 {
		if err := limiter.Wait(context.Background(), "example:mail", limit); err != nil {
			log.Fatal(err)
		}
		fmt.Println("mail", i)
	}
	hurried, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	limiter.Wait(hurried, "example:slow", stint.PerHour(1))
	fmt.Println(limiter.Wait(hurried, "example:slow", stint.PerHour(1)))
	// Output:
	// mail 0
	// mail 1
	// mail 2
	// stint: would have to wait longer than the deadline allows
}

func ExampleLimiter_Place() {
	limiter := exampleLimiter()
	defer limiter.Close()
	export := func(ctx context.Context, job string) error {
		place, err := limiter.Place(ctx, "example:exports", stint.Concurrency(1, time.Minute, job))
		if err != nil {
			return err
		}
		defer place.Close()
		fmt.Println(job, "has the place")
		return nil
	}
	for _, job := range []string{"job-7", "job-8"} { // at other times, the second would wait
		if err := export(context.Background(), job); err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// job-7 has the place
	// job-8 has the place
}

func ExampleLimiter_Reserve() {
	limiter := exampleLimiter()
	defer limiter.Close()
	ctx, limit := context.Background(), stint.PerHour(1)
	for range 2 {
		r, err := limiter.Reserve(ctx, "example:reserve", limit, 1, 90*time.Minute)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(r.Allowed, r.Delay().Round(time.Hour))
		if err := r.Cancel(ctx); err != nil { // does nothing for the first, whose time has come
			log.Fatal(err)
		}
	}
	// Output:
	// true 0s
	// true 1h0m0s
}

func ExampleLimiter_Lease() {
	limiter := exampleLimiter()
	defer limiter.Close()
	leases := limiter.Lease(stint.LeaseOptions{})
	defer leases.Close(context.Background())
	allowed := 0
	for range 100_000 {
		result, err := leases.Allow(context.Background(), "example:hot", stint.PerSecond(10_000_000))
		if err != nil {
			log.Fatal(err)
		}
		if result.Allowed {
			allowed++
		}
	}
	fmt.Println(allowed)
	// Output: 100000
}

func ExampleLimit() {
	fmt.Println(stint.PerSecond(10).Burst(20))
	fmt.Println(stint.Per(5, 500*time.Millisecond))
	fmt.Println(stint.PerMinute(980).Queue(100))
	fmt.Println(stint.Window(1000, stint.Day))
	fmt.Println(stint.Window(100, stint.Aligned(15*time.Minute)))
	fmt.Println(stint.SlidingWindow(100, time.Minute))
	fmt.Println(stint.SlidingLog(100, time.Minute))
	fmt.Println(stint.GCRA(15, 30, time.Minute))
	// Output:
	// TB 20 10/1000ms
	// TB 5 5/500ms
	// LQ 100 980/60000ms
	// FW 1000 @day
	// FW 100 @900000ms
	// SW 100 60000ms
	// SL 100 60000ms
	// CL 15 30 60
}
