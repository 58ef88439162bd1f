package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	stint "github.com/stintdb/stint/clients/go"
	"github.com/stintdb/stint/clients/go/internal/servertest"
)

const (
	callers    = 64
	plentiful  = 100_000_000 // tokens a second: never denied
	sampled    = 16          // one call in sampled is timed
	maxSamples = 1 << 18     // of one caller
)

// A speed is the result of one measurement of a contender.
type speed struct {
	callsPerSecond float64
	p50, p99       time.Duration
	serverCalls    float64 // commands that reached the server, for each call
}

// speeds measures all contenders in turn, round by round, and prints the medians.
func speeds(rounds int, each time.Duration) error {
	at, stop, err := startServers()
	if err != nil {
		return err
	}
	defer stop()
	names := []string{inProcess, leased, asked, onRedis}
	all := map[string][]speed{}
	for round := range rounds {
		for i := range names {
			name := names[(i+round)%len(names)]
			s, err := measure(name, at, each)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			all[name] = append(all[name], s)
		}
	}
	fmt.Printf("| %d goroutines, one key | calls a second | p50 | p99 | commands at the server for each call |\n|---|---|---|---|---|\n", callers)
	for _, name := range names {
		fmt.Printf("| %s | %s | %v | %v | %s |\n", name, count(median(all[name], func(s speed) float64 { return s.callsPerSecond })),
			short(median(all[name], func(s speed) time.Duration { return s.p50 })), short(median(all[name], func(s speed) time.Duration { return s.p99 })),
			perCall(median(all[name], func(s speed) float64 { return s.serverCalls })))
	}
	fmt.Println()
	return nil
}

func startServers() (at servers, stop func(), err error) {
	server, err := servertest.Start()
	if err != nil {
		return at, nil, err
	}
	store, err := servertest.StartRedis()
	if err != nil {
		server.Kill()
		return at, nil, err
	}
	return servers{server.Address, store.Address}, func() { server.Kill(); store.Kill() }, nil
}

func measure(name string, at servers, each time.Duration) (speed, error) {
	c := start(name, at, plentiful, stint.Timeout(patience)) // on a busy machine a call may take longer than 20 ms
	defer c.close()
	ctx := context.Background()
	if _, err := c.allow(ctx, "speed"); err != nil {
		return speed{}, err
	}
	before, err := commands(name, at)
	if err != nil {
		return speed{}, err
	}
	var (
		calls   atomic.Int64
		over    atomic.Bool
		all     sync.WaitGroup
		mu      sync.Mutex
		samples []time.Duration
		failed  error
	)
	begun := time.Now()
	for range callers {
		all.Go(func() {
			own, n, err := make([]time.Duration, 0, 1024), int64(0), error(nil)
			for ; err == nil && (n == 0 || !over.Load()); n++ {
				if n%sampled != 0 || len(own) == maxSamples {
					_, err = c.allow(ctx, "speed")
					continue
				}
				at := time.Now()
				_, err = c.allow(ctx, "speed")
				own = append(own, time.Since(at))
			}
			calls.Add(n)
			mu.Lock()
			defer mu.Unlock()
			samples = append(samples, own...)
			if err != nil {
				failed = err
			}
		})
	}
	time.Sleep(each)
	over.Store(true)
	all.Wait()
	took := time.Since(begun)
	after, err := commands(name, at)
	if err != nil || failed != nil {
		return speed{}, errors.Join(err, failed)
	}
	slices.Sort(samples)
	return speed{
		callsPerSecond: float64(calls.Load()) / took.Seconds(),
		p50:            quantile(samples, 0.5), p99: quantile(samples, 0.99),
		serverCalls: float64(after-before) / float64(calls.Load()),
	}, nil
}

// commands is the number of commands that a contender's server has executed since its start.
func commands(name string, at servers) (n int64, err error) {
	address := at.stint
	switch name {
	case inProcess:
		return 0, nil
	case onRedis:
		address = at.redis
	}
	client := redis.NewClient(&redis.Options{Addr: address})
	defer client.Close()
	info, err := client.InfoMap(context.Background(), "stats").Result()
	if err != nil {
		return 0, err
	}
	_, err = fmt.Sscan(info["Stats"]["total_commands_processed"], &n)
	return n, err
}
