package main

import (
	"bufio"
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A pace is a load whose requests are due at times fixed in advance, so that a server that stalls delays all that are due meanwhile.
type pace struct {
	connections int
	pipeline    int     // requests that are due together and are sent together
	keys        int     // ids are below it
	perSecond   float64 // of all connections; 0: each sends as soon as it has its replies
	duration    time.Duration
}

// A sender sends requests about ids over one connection, and counts the replies. Its error is one of the connection.
type sender func(ids []int, to *tally) error

// A tally counts the requests of one connection.
type tally struct {
	granted, errors, notSent int
	firstError               error
	latencies                []time.Duration // one for each reply
}

// run connects all before the first one sends. Error replies are counted. A connection ends with its context.
func (p pace) run(ctx context.Context, connect func(ctx context.Context, number int) (sender, error)) (s Sample, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	senders := make([]sender, p.connections)
	for i := range senders {
		if senders[i], err = connect(ctx, i); err != nil {
			return s, err
		}
	}
	tallies, errs := make([]tally, p.connections), make([]error, p.connections)
	var all sync.WaitGroup
	began := time.Now()
	for i, send := range senders {
		all.Go(func() {
			if errs[i] = p.work(ctx, send, i, began, &tallies[i]); errs[i] != nil {
				cancel() // the others need not go on
			}
		})
	}
	all.Wait()
	s.Seconds = time.Since(began).Seconds()
	var sorted []time.Duration
	for _, t := range tallies {
		s.Granted, s.Errors, s.NotSent = s.Granted+t.granted, s.Errors+t.errors, s.NotSent+t.notSent
		if s.FirstError == nil {
			s.FirstError = t.firstError
		}
		sorted = append(sorted, t.latencies...)
	}
	if err := errors.Join(errs...); err != nil {
		return s, err
	}
	if len(sorted) == 0 {
		return s, errors.New("no request was sent")
	}
	slices.Sort(sorted)
	at := func(part float64) float64 { return sorted[int(part*float64(len(sorted)-1))].Seconds() * 1000 }
	s.Requests, s.PerSecond, s.P50ms, s.P99ms = len(sorted), float64(len(sorted))/s.Seconds, at(0.5), at(0.99)
	return s, nil
}

// work sends until the time is over, and counts the requests that were due by then and not sent.
func (p pace) work(ctx context.Context, send sender, number int, began time.Time, to *tally) error {
	end, random := began.Add(p.duration), rand.New(rand.NewPCG(uint64(number), 1))
	var due []time.Time
	var ids []int
	for next := 0; ; next += len(due) {
		if due = p.collect(due[:0], began, end, number, next); len(due) == 0 || ctx.Err() != nil {
			for ; p.perSecond > 0 && p.dueAt(began, number, next).Before(end); next++ {
				to.notSent++
			}
			return ctx.Err()
		}
		ids = ids[:0]
		for range due {
			ids = append(ids, random.IntN(p.keys))
		}
		if err := send(ids, to); err != nil {
			return err
		}
		now := time.Now()
		for _, since := range due {
			to.latencies = append(to.latencies, now.Sub(since))
		}
	}
}

// dueAt is when a connection's request is due: connections take turns.
func (p pace) dueAt(began time.Time, number, request int) time.Time {
	return began.Add(time.Duration(float64(request*p.connections+number) / p.perSecond * float64(time.Second)))
}

// collect waits until the next request is due, and returns since when it and those that go with it have been due; none after the end.
func (p pace) collect(due []time.Time, began, end time.Time, number, next int) []time.Time {
	now := time.Now()
	if p.perSecond == 0 {
		for now.Before(end) && len(due) < p.pipeline {
			due = append(due, now)
		}
		return due
	}
	at, woken := p.dueAt(began, number, next), began
	if wait := at.Sub(now); wait > 0 && at.Before(end) {
		time.Sleep(wait)
		now = time.Now()
		woken = now // a late timer is not the server's
	}
	for ; now.Before(end) && len(due) < p.pipeline && !at.After(now) && at.Before(end); at = p.dueAt(began, number, next+len(due)) {
		if at.Before(woken) {
			due = append(due, woken)
		} else {
			due = append(due, at)
		}
	}
	return due
}

// respSenders send a command in which {key} stands for an id. The first integer of a reply is above 0 if the request was granted; with
// denialFirst, as in CL.THROTTLE's, if it was denied.
func respSenders(address string, command []string, denialFirst bool) func(context.Context, int) (sender, error) {
	return func(ctx context.Context, _ int) (sender, error) {
		conn, err := dialUntil(ctx, address)
		if err != nil {
			return nil, err
		}
		in, words, out := bufio.NewReader(conn), slices.Clone(command), []byte(nil)
		return func(ids []int, to *tally) error {
			out = out[:0]
			for _, id := range ids {
				for i, word := range command {
					words[i] = strings.ReplaceAll(word, "{key}", strconv.Itoa(id))
				}
				out = appendCommand(out, words...)
			}
			if _, err := conn.Write(out); err != nil {
				return err
			}
			for range ids {
				r, err := readReply(in)
				switch {
				case errors.Is(err, errReply):
					to.errors++
					if to.firstError == nil {
						to.firstError = err
					}
				case err != nil:
					return err
				case len(r.integers) > 0 && (r.integers[0] > 0) != denialFirst:
					to.granted++
				}
			}
			return nil
		}, nil
	}
}

// dialUntil opens a connection that is closed at the end of ctx, and in any case after runTimeout.
func dialUntil(ctx context.Context, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{Timeout: dialTimeout}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, func() { _ = conn.Close() })
	return conn, conn.SetDeadline(time.Now().Add(runTimeout))
}
