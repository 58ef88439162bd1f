package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A pace is a load whose requests are due at times fixed in advance, so that a stall of the server delays all that are
// due during it.
type pace struct {
	connections int
	pipeline    int     // requests that are due together and are sent together
	keys        int     // ids are below it
	perSecond   float64 // of all connections; 0: each sends as soon as it has its replies
	duration    time.Duration
}

// A sender sends requests about ids over one connection, and counts the replies. Its error is one of the connection.
type sender func(ids []int, to *tally) error

// A connector opens a connection, which ends with its context.
type connector func(ctx context.Context, number int) (sender, error)

// A tally counts the requests of one connection.
type tally struct {
	granted, errors, notSent int
	firstError               error
	latencies                []time.Duration // one for each reply
}

// run connects all before the first one sends. Error replies are counted.
func (p pace) run(ctx context.Context, connect connector) (s Sample, err error) {
	ctx, cancel := context.WithCancelCause(ctx) // the first failure ends the others
	defer cancel(nil)
	senders := make([]sender, p.connections)
	for i := range senders {
		if senders[i], err = connect(ctx, i); err != nil {
			return s, err
		}
	}
	tallies := make([]tally, p.connections)
	var all sync.WaitGroup
	began := time.Now()
	for i, send := range senders {
		all.Go(func() {
			if err := p.work(ctx, send, i, began, &tallies[i]); err != nil {
				cancel(err)
			}
		})
	}
	all.Wait()
	if err := context.Cause(ctx); err != nil {
		return s, err
	}
	s.Seconds = time.Since(began).Seconds()
	var sorted []time.Duration
	for _, t := range tallies {
		s.Granted, s.Errors, s.NotSent = s.Granted+t.granted, s.Errors+t.errors, s.NotSent+t.notSent
		if s.FirstError == nil {
			s.FirstError = t.firstError
		}
		sorted = append(sorted, t.latencies...)
	}
	if len(sorted) == 0 {
		return s, errors.New("no request was sent")
	}
	slices.Sort(sorted)
	at := func(part float64) float64 { return sorted[int(part*float64(len(sorted)-1))].Seconds() * 1000 }
	s.Requests, s.PerSecond, s.P50ms, s.P99ms = len(sorted), float64(len(sorted))/s.Seconds, at(0.5), at(0.99)
	return s, nil
}

// at runs the load on an instance, divided among addresses.
func (p pace) at(ctx context.Context, inst *Instance, addresses []string, connect func(address string) connector) (Sample, error) {
	p.connections /= len(addresses)
	if p.perSecond > 0 {
		p.perSecond = max(1, p.perSecond/float64(len(addresses)))
	}
	s, err := atOnce(inst, addresses, func(address string) (Sample, error) { return p.run(ctx, connect(address)) })
	if err != nil {
		return s, diagnose(inst, err)
	}
	return s, nil
}

// grantedAt is at with an error unless every request was granted.
func (p pace) grantedAt(ctx context.Context, inst *Instance, addresses []string, connect func(address string) connector) (Sample, error) {
	s, err := p.at(ctx, inst, addresses, connect)
	if err == nil && s.Granted != s.Requests {
		err = fmt.Errorf("%d of %d requests were granted, %d were answered with an error: %v", s.Granted, s.Requests, s.Errors, s.FirstError)
	}
	return s, err
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

// collect waits until the next request is due, and returns since when it and those that go with it have been due; none
// after the end.
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

// respSenders send the command of each id. The first integer of a reply is above 0 if the request was granted; with
// denialFirst, as in CL.THROTTLE's, if it was denied.
func respSenders(command func(id int) []string, denialFirst bool) func(address string) connector {
	return func(address string) connector {
		return func(ctx context.Context, _ int) (sender, error) {
			conn, err := dialUntil(ctx, address)
			if err != nil {
				return nil, err
			}
			in, out := bufio.NewReaderSize(conn, 64<<10), []byte(nil)
			return func(ids []int, to *tally) error {
				out = out[:0]
				for _, id := range ids {
					out = appendCommand(out, command(id)...)
				}
				if _, err := conn.Write(out); err != nil {
					return err
				}
				for range ids {
					if err := to.count(in, denialFirst); err != nil {
						return err
					}
				}
				return nil
			}, nil
		}
	}
}

// keyed is a command in which {key} stands for an id.
func keyed(words ...string) func(id int) []string {
	return func(id int) []string {
		filled, key := slices.Clone(words), strconv.Itoa(id)
		for i, word := range words {
			filled[i] = strings.ReplaceAll(word, "{key}", key)
		}
		return filled
	}
}

// count reads a reply.
func (t *tally) count(in *bufio.Reader, denialFirst bool) error {
	r, err := readReply(in)
	switch {
	case errors.Is(err, errReply):
		t.errors++
		if t.firstError == nil {
			t.firstError = err
		}
	case err != nil:
		return err
	case len(r.integers) > 0 && (r.integers[0] > 0) != denialFirst:
		t.granted++
	}
	return nil
}

// A boundConn bounds each write, and the read of its replies.
type boundConn struct{ net.Conn }

func (c boundConn) Write(b []byte) (int, error) {
	if err := c.SetDeadline(time.Now().Add(loadTimeout)); err != nil {
		return 0, err
	}
	return c.Conn.Write(b)
}

// dialUntil opens a connection that is closed at the end of ctx.
func dialUntil(ctx context.Context, address string) (net.Conn, error) {
	network := "tcp"
	if path, isUnix := strings.CutPrefix(address, "unix:"); isUnix {
		network, address = "unix", path
	}
	conn, err := (&net.Dialer{Timeout: dialTimeout}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, func() { _ = conn.Close() })
	return boundConn{conn}, nil
}
