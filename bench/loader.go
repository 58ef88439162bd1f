package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
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
	loading, cancel := context.WithCancel(ctx)
	defer cancel()
	errs := make(chan error, loadConnections)
	for i := range loadConnections {
		from, to := first+n*i/loadConnections, first+n*(i+1)/loadConnections
		go func() {
			err := loadRange(loading, addr, c, limit, from, to)
			if err != nil {
				cancel() // the other connections need not go on
			}
			errs <- err
		}()
	}
	var failures []error
	for range loadConnections {
		if err := <-errs; err != nil && !errors.Is(err, context.Canceled) {
			failures = append(failures, err)
		}
	}
	return errors.Join(append(failures, ctx.Err())...)
}

// loadRange loads the keys numbered [from, to) over one connection.
func loadRange(ctx context.Context, addr string, c Command, limit Limit, from, to int) error {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	replies := bufio.NewReaderSize(conn, 64<<10)
	args := expand(c.Template, memoryKey(c, from), limit)
	keyAt := slices.Index(args, memoryKey(c, from))
	var batch []byte
	for from < to {
		if err := ctx.Err(); err != nil {
			return err
		}
		end := min(from+loadBatch, to)
		batch = batch[:0]
		for i := from; i < end; i++ {
			args[keyAt] = memoryKey(c, i)
			batch = appendCommand(batch, args...)
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
				err = c.Answer.check(reply, true)
			}
			if err != nil {
				return fmt.Errorf("key %s: %w", memoryKey(c, i), err)
			}
		}
		from = end
	}
	return nil
}

// memoryKey is the i-th 16-byte key.
func memoryKey(c Command, i int) string { return fmt.Sprintf("%s:%012d", c.Tag, i) }
