package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/stintdb/stint/clients/go/internal/servertest"
)

// outageRate is the number of calls to each contender in a second of an outage. Like requests to an application, they
// do not wait until earlier calls have returned.
const outageRate = 500

// outages measures the wait of callers while the server runs and in three kinds of outage.
func outages(each time.Duration) error {
	fmt.Printf("| how long %d calls a second take, each of its own goroutine | p50 | p99 | longest |\n|---|---|---|---|\n", outageRate)
	for _, name := range []string{asked, onRedis} {
		for _, state := range []string{"well", "killed", "stopped (SIGSTOP)", "partitioned"} {
			samples, err := during(name, state, each)
			if err != nil {
				return fmt.Errorf("%s, %s: %w", name, state, err)
			}
			slices.Sort(samples)
			fmt.Printf("| %s, the server is %s | %v | %v | %v |\n", name, state, short(quantile(samples, 0.5)), short(quantile(samples, 0.99)), short(samples[len(samples)-1]))
		}
	}
	return nil
}

// during makes calls for the given time from the moment at which the server fails, and returns the durations of the
// calls.
func during(name, state string, each time.Duration) ([]time.Duration, error) {
	var process *os.Process
	var address string
	if name == onRedis {
		store, err := servertest.StartRedis()
		if err != nil {
			return nil, err
		}
		defer store.Kill()
		process, address = store.Process(), store.Address
	} else {
		server, err := servertest.Start()
		if err != nil {
			return nil, err
		}
		defer server.Kill()
		process, address = server.Process(), server.Address
	}
	proxy, err := servertest.NewProxy(address)
	if err != nil {
		return nil, err
	}
	defer proxy.Close()
	if state == "partitioned" {
		address = proxy.Address
	}
	c := start(name, servers{address, address}, plentiful)
	defer c.close()
	for range 100 { // to open connections
		_, _ = c.allow(context.Background(), "k")
	}
	switch state {
	case "killed":
		err = process.Kill()
	case "stopped (SIGSTOP)":
		err = process.Signal(syscall.SIGSTOP)
	case "partitioned":
		proxy.Partition()
	}
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	var all sync.WaitGroup
	var samples []time.Duration
	ticks := time.NewTicker(time.Second / outageRate)
	defer ticks.Stop()
	for begun := time.Now(); time.Since(begun) < each; <-ticks.C {
		all.Go(func() {
			at := time.Now()
			_, _ = c.allow(context.Background(), "k")
			took := time.Since(at)
			mu.Lock()
			samples = append(samples, took)
			mu.Unlock()
		})
	}
	all.Wait()
	return samples, nil
}
