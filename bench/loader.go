package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"
)

const (
	loadConnections = 4
	loadBatch       = 256              // requests in one write
	loadTimeout     = 30 * time.Second // for the replies of one batch
)

// A loader sends numbered commands, which redis-benchmark cannot, and checks every reply.
type loader struct {
	addr        string
	connections int
	pipeline    int
	command     func(i int) []string
	check       func(reply) error
}

// load sends c once for each of n distinct 16-byte keys, numbered from
// first, and checks that every reply grants.
func load(ctx context.Context, addr string, c Command, limit Limit, first, n int) error {
	args := expand(c.Template, memoryKey(c, first), limit)
	keyAt := slices.Index(args, memoryKey(c, first))
	return loader{addr, loadConnections, loadBatch,
		func(i int) []string {
			args := slices.Clone(args)
			args[keyAt] = memoryKey(c, i)
			return args
		},
		func(r reply) error { return c.Answer.check(r, true) },
	}.send(ctx, first, n)
}

// send sends n commands numbered from first, over all connections.
func (l loader) send(ctx context.Context, first, n int) error {
	loading, cancel := context.WithCancel(ctx)
	defer cancel()
	errs := make(chan error, l.connections)
	for i := range l.connections {
		from, to := first+n*i/l.connections, first+n*(i+1)/l.connections
		go func() {
			err := l.sendRange(loading, from, to)
			if err != nil {
				cancel() // the other connections need not go on
			}
			errs <- err
		}()
	}
	var failures []error
	for range l.connections {
		if err := <-errs; err != nil && !errors.Is(err, context.Canceled) {
			failures = append(failures, err)
		}
	}
	return errors.Join(append(failures, ctx.Err())...)
}

// sendRange sends the commands numbered [from, to) over one connection.
func (l loader) sendRange(ctx context.Context, from, to int) error {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", l.addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	replies := bufio.NewReaderSize(conn, 64<<10)
	var batch []byte
	for from < to {
		if err := ctx.Err(); err != nil {
			return err
		}
		end := min(from+l.pipeline, to)
		batch = batch[:0]
		for i := from; i < end; i++ {
			batch = appendCommand(batch, l.command(i)...)
		}
		if err := conn.SetDeadline(time.Now().Add(loadTimeout)); err != nil {
			return err
		}
		if _, err := conn.Write(batch); err != nil {
			return err
		}
		for i := from; i < end; i++ {
			reply, err := readReply(replies)
			if err == nil {
				err = l.check(reply)
			}
			if err != nil {
				return fmt.Errorf("%s: %w", strings.Join(l.command(i), " "), err)
			}
		}
		from = end
	}
	return nil
}

// memoryKey is the i-th 16-byte key.
func memoryKey(c Command, i int) string { return fmt.Sprintf("%s:%012d", c.Tag, i) }
