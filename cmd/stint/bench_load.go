package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/tidwall/redcon"
)

const (
	benchTimeout  = 10 * time.Second // for connecting, and for all replies of a pipeline
	benchMaxReply = 16 << 20         // bytes of all replies of a pipeline
	benchLongest  = 2 * time.Hour    // the largest latency recorded, more than the longest run
)

// benchLoad is one connection: it sends, reads the replies and counts.
type benchLoad struct {
	plan    *benchPlan
	number  int // from 0
	conn    net.Conn
	request []byte
	unread  []byte
	tally   benchTally
	alarm   alarm

	answered atomic.Int64 // as in tally, for the goroutine that shows progress
}

// benchTally holds the counts of one connection or of all.
type benchTally struct {
	Requests   int64  `json:"requests"` // that were answered
	Granted    int64  `json:"granted"`
	Denied     int64  `json:"denied"`
	Errors     int64  `json:"errors"`
	FirstError string `json:"first_error,omitempty"`
	NotSent    int64  `json:"not_sent"` // that were due, with a rate, and not sent when the run ended

	latency *hdrhistogram.Histogram // in nanoseconds, to three digits
}

func newBenchTally() benchTally {
	return benchTally{latency: hdrhistogram.New(1, benchLongest.Nanoseconds(), 3)}
}

// run connects, loads the server for as long as planned, and adds up. The first connection that fails ends all.
func (plan *benchPlan) run(ctx context.Context) (*benchOutcome, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	loads := make([]*benchLoad, plan.Connections)
	for i := range loads {
		conn, err := plan.dial(ctx)
		if err != nil {
			return nil, fmt.Errorf("%s can't be reached: %w", plan.Server, err)
		}
		defer conn.Close()
		loads[i] = &benchLoad{plan: plan, number: i, conn: conn, tally: newBenchTally()}
		if err := loads[i].login(); err != nil {
			return nil, err
		}
	}
	defer context.AfterFunc(ctx, func() {
		for _, l := range loads {
			_ = l.conn.SetDeadline(time.Unix(1, 0)) // ends every waiting read and write
		}
	})()
	start := time.Now()
	var done sync.WaitGroup
	for _, l := range loads {
		done.Go(func() {
			if err := l.load(ctx, start); err != nil {
				stop(err)
			}
		})
	}
	hide := plan.line.follow(func() string { return plan.progress(loads, start) })
	done.Wait()
	hide()
	if err := context.Cause(ctx); err != nil && !errors.Is(err, context.Canceled) {
		return nil, fmt.Errorf("connection to %s: %w", plan.Server, err)
	}
	outcome := &benchOutcome{benchPlan: plan, benchTally: newBenchTally(), Seconds: time.Since(start).Seconds()}
	for _, l := range loads {
		outcome.add(&l.tally)
	}
	return outcome, nil
}

func (t *benchTally) add(other *benchTally) {
	t.Requests += other.Requests
	t.Granted += other.Granted
	t.Denied += other.Denied
	t.Errors += other.Errors
	t.NotSent += other.NotSent
	if t.FirstError == "" {
		t.FirstError = other.FirstError
	}
	t.latency.Merge(other.latency)
}

func (l *benchLoad) login() error {
	if l.plan.password == "" {
		return nil
	}
	l.request = appendRequest(l.request[:0], []string{"AUTH", l.plan.user, l.plan.password})
	if err := l.exchange(1, func(redcon.RESP) {}); err != nil {
		return err
	}
	if l.tally.Errors > 0 {
		return fmt.Errorf("logging in as %s: %s", l.plan.user, l.tally.FirstError)
	}
	return nil
}

// load sends until the time is up or ctx is done.
func (l *benchLoad) load(ctx context.Context, start time.Time) error {
	l.alarm = l.plan.alarm()
	defer l.alarm.close()
	end := start.Add(l.plan.duration)
	due := make([]time.Time, 0, l.plan.Pipeline) // of the requests sent together
	for next := int64(0); ; next += int64(len(due)) {
		if due = l.collect(ctx, due[:0], start, end, next); len(due) == 0 {
			return nil
		}
		l.request = l.request[:0]
		for range due {
			l.request = appendRequest(l.request, l.fill())
		}
		answered := 0
		err := l.exchange(len(due), func(reply redcon.RESP) {
			_ = l.tally.latency.RecordValue(max(1, min(time.Since(due[answered]), benchLongest).Nanoseconds()))
			answered++
			l.tally.count(l.plan.Command[0], reply)
		})
		l.answered.Store(l.tally.Requests)
		if ctx.Err() != nil {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// preciseSleep is the part of a wait that does not depend on Go's timers.
const preciseSleep = 2 * time.Millisecond

// collect waits until the next request is due and returns the due times of the requests to send together. It returns
// none after the end of the run, and counts those that were due by then.
func (l *benchLoad) collect(ctx context.Context, due []time.Time, start, end time.Time, next int64) []time.Time {
	if l.plan.Rate == 0 {
		now := time.Now()
		for now.Before(end) && ctx.Err() == nil && len(due) < l.plan.Pipeline {
			due = append(due, now)
		}
		return due
	}
	dueAt := func(i int64) time.Time { // connections take turns
		turn := float64(i)*float64(l.plan.Connections) + float64(l.number)
		return start.Add(time.Duration(turn / l.plan.Rate * float64(time.Second)))
	}
	first := dueAt(next)
	if !first.Before(end) {
		return nil
	}
	select {
	case <-time.After(time.Until(first) - preciseSleep):
	case <-ctx.Done():
		return nil
	}
	for d := time.Until(first); d > 0; d = time.Until(first) {
		l.alarm.sleep(d)
	}
	now := time.Now()
	if !now.Before(end) { // too late to send: the server, or this machine, did not keep up
		for i := next; dueAt(i).Before(end); i++ {
			l.tally.NotSent++
		}
		return nil
	}
	for at := first; len(due) < l.plan.Pipeline && !at.After(now) && at.Before(end); at = dueAt(next + int64(len(due))) {
		due = append(due, at)
	}
	return due
}

// fill is the command with a key in it.
func (l *benchLoad) fill() []string {
	words := make([]string, len(l.plan.Command))
	key := strconv.FormatInt(rand.Int64N(l.plan.Keys), 10)
	for i, word := range l.plan.Command {
		words[i] = strings.ReplaceAll(word, "{key}", key)
	}
	return words
}

func appendRequest(to []byte, words []string) []byte {
	to = redcon.AppendArray(to, len(words))
	for _, word := range words {
		to = redcon.AppendBulkString(to, word)
	}
	return to
}

// exchange sends l.request and reads the given number of replies. It counts errors and passes every reply to see.
func (l *benchLoad) exchange(replies int, see func(redcon.RESP)) error {
	if err := l.conn.SetDeadline(time.Now().Add(benchTimeout)); err != nil {
		return err
	}
	if _, err := l.conn.Write(l.request); err != nil {
		return err
	}
	var chunk [16 << 10]byte
	for {
		for replies > 0 {
			n, reply := redcon.ReadNextRESP(l.unread)
			if n == 0 {
				break
			}
			if reply.Type == redcon.Error {
				l.tally.Errors++
				if l.tally.FirstError == "" {
					l.tally.FirstError = string(reply.Data)
				}
			}
			see(reply)
			l.unread = l.unread[:copy(l.unread, l.unread[n:])]
			replies--
		}
		if replies == 0 {
			return nil
		}
		n, err := l.conn.Read(chunk[:])
		l.unread = append(l.unread, chunk[:n]...)
		if err != nil {
			return err
		}
		if len(l.unread) > benchMaxReply {
			return fmt.Errorf("a reply of more than %d bytes", benchMaxReply)
		}
	}
}

// count adds a reply to the tally. A limiter's reply is an array that begins with the granted tokens; CL.THROTTLE's begins
// with 1 for a denial.
func (t *benchTally) count(command string, reply redcon.RESP) {
	t.Requests++
	if reply.Type != redcon.Array || reply.Count == 0 {
		return
	}
	_, first := redcon.ReadNextRESP(reply.Data)
	if first.Type != redcon.Integer {
		return
	}
	if (first.Int() == 0) != strings.EqualFold(command, "CL.THROTTLE") {
		t.Denied++
	} else {
		t.Granted++
	}
}
