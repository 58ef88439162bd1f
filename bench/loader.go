package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

const (
	loadConnections = 4
	loadBatch       = 256              // requests in one write
	loadTimeout     = 30 * time.Second // for the replies of one batch
)

// load sends c once for each of n distinct 16-byte keys, numbered from
// first, and checks that every reply grants.
func load(ctx context.Context, addr string, c Command, limit Limit, first, n int) error {
	args := expand(c.Template, memoryKey(c, first), limit)
	keyAt := slices.Index(args, memoryKey(c, first))
	command := func(i int) []string {
		args := slices.Clone(args)
		args[keyAt] = memoryKey(c, i)
		return args
	}
	return loader{addr, loadConnections, loadBatch, command, c.Answer == answerThrottle}.send(ctx, first, n)
}

// memoryKey is the i-th 16-byte key.
func memoryKey(c Command, i int) string { return fmt.Sprintf("%s:%012d", c.Tag, i) }

// A loader sends numbered commands, which redis-benchmark cannot, and checks that every reply grants.
type loader struct {
	addr        string
	connections int
	pipeline    int
	command     func(i int) []string
	denialFirst bool // as in respSenders
}

// send sends n commands numbered from first, over all connections.
func (l loader) send(ctx context.Context, first, n int) error {
	ctx, cancel := context.WithCancelCause(ctx) // the first failure ends the others
	defer cancel(nil)
	connect := respSenders(l.command, l.denialFirst)(l.addr)
	var all sync.WaitGroup
	for i := range l.connections {
		all.Go(func() {
			if err := l.sendRange(ctx, connect, first+n*i/l.connections, first+n*(i+1)/l.connections); err != nil {
				cancel(err)
			}
		})
	}
	all.Wait()
	return context.Cause(ctx)
}

// sendRange sends the commands numbered [from, to) over one connection.
func (l loader) sendRange(ctx context.Context, connect connector, from, to int) error {
	send, err := connect(ctx, 0)
	if err != nil {
		return err
	}
	var ids []int
	for ; from < to; from += len(ids) {
		ids = ids[:0]
		for id := from; id < min(to, from+l.pipeline); id++ {
			ids = append(ids, id)
		}
		var t tally
		if err := send(ids, &t); err != nil {
			return err
		}
		if t.granted != len(ids) {
			return fmt.Errorf("%v and the next %d: %d were granted (%v)", l.command(from), len(ids)-1, t.granted, t.firstError)
		}
	}
	return nil
}
