package main

import (
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// An asker sends a request about an id, and returns an error unless it was granted.
type asker func(id int) error

// load is a number of workers that ask, one request at a time each.
type load struct {
	workers   int
	keys      int
	perSecond float64 // of all workers; 0 is as many as possible
	duration  time.Duration
}

// Result is the output; latencies are in milliseconds.
type Result struct {
	Requests  int     `json:"requests"`
	PerSecond float64 `json:"requests_per_second"`
	P50       float64 `json:"p50"`
	P99       float64 `json:"p99"`
}

// run connects all workers before the first one asks.
func (l load) run(connect func(worker int) (asker, error)) (r Result, err error) {
	askers := make([]asker, l.workers)
	for i := range askers {
		if askers[i], err = connect(i); err != nil {
			return r, err
		}
	}
	latencies, errs := make([][]time.Duration, l.workers), make([]error, l.workers)
	var all sync.WaitGroup
	began := time.Now()
	for i, ask := range askers {
		all.Go(func() { latencies[i], errs[i] = l.work(ask, i, began) })
	}
	all.Wait()
	elapsed := time.Since(began)
	sorted := slices.Concat(latencies...)
	slices.Sort(sorted)
	if err := errors.Join(errs...); err != nil || len(sorted) == 0 {
		return r, errors.Join(err, errors.New("no load"))
	}
	at := func(part float64) float64 { return sorted[int(part*float64(len(sorted)-1))].Seconds() * 1000 }
	return Result{len(sorted), float64(len(sorted)) / elapsed.Seconds(), at(0.5), at(0.99)}, nil
}

// work asks until the time is over. With a rate, each request is due at a time fixed in advance, and one that must wait for the one before it
// counts from there.
func (l load) work(ask asker, worker int, began time.Time) (latencies []time.Duration, err error) {
	latencies = make([]time.Duration, 0, 1<<12)
	end, random := began.Add(l.duration), rand.New(rand.NewPCG(uint64(worker), 1))
	for i := 0; ; i++ {
		from := time.Now()
		if l.perSecond > 0 {
			due := began.Add(time.Duration(float64(i*l.workers+worker) / l.perSecond * float64(time.Second)))
			if due.After(end) {
				return latencies, nil
			}
			if wait := due.Sub(from); wait > 0 {
				time.Sleep(wait)
				due = time.Now() // a late timer is not the server's
			}
			from = due
		} else if from.After(end) {
			return latencies, nil
		}
		if err := ask(random.IntN(l.keys)); err != nil {
			return nil, err
		}
		latencies = append(latencies, time.Since(from))
	}
}
