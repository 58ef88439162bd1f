package stint

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// Bounds of a pipe.
const (
	maxPipelines = 4                // pipelines in flight at a time
	maxBatch     = 1000             // commands in one pipeline
	maxQueued    = 20_000           // commands waiting to be sent; beyond it they are refused
	patience     = time.Second      // the most time for a pipeline, also after its callers have left
	workerLinger = 10 * time.Second // an idle worker ends after it
)

// A sender sends commands in one go and sets their replies or errors. It may block for longer than any caller waits.
type sender interface {
	send(ctx context.Context, commands []redis.Cmder)
}

// A pipe lets concurrent callers share pipelines. A command is sent at once if fewer than maxPipelines are in flight;
// otherwise it is sent when one of them ends, together with all others that have come by then. Commands are never
// delayed to fill a pipeline.
//
// Callers never wait inside go-redis: the pipe's workers dial, wait for a connection of the pool and read. Workers may
// be stuck until the client's timeouts, but callers return at their deadline. A command whose caller left before it was
// sent is never sent.
type pipe struct {
	sender sender

	mu      sync.Mutex
	queue   []*call
	workers int
	idle    int
	closed  bool
	wake    chan struct{} // a token for an idle worker
	done    chan struct{}
}

// A call is a command of one caller, queued or in flight.
type call struct {
	command once
	state   atomic.Int32
	done    chan struct{}
}

const (
	waiting int32 = iota
	sent
	abandoned
)

func newCall(command *redis.Cmd) *call {
	return &call{command: once{command}, done: make(chan struct{})}
}

func newPipe(s sender) *pipe {
	return &pipe{sender: s, wake: make(chan struct{}, maxPipelines), done: make(chan struct{})}
}

// do sends a new call's command and waits for its reply, at most for the timeout and until ctx is over. The error is
// the reply's or the connection's as go-redis returns it, ctx's error, or one of this package.
func (p *pipe) do(ctx context.Context, timeout time.Duration, c *call) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := p.enqueue(c); err != nil {
		return err
	}
	deadline := time.NewTimer(timeout)
	defer deadline.Stop()
	select {
	case <-c.done:
		return c.command.Err()
	case <-deadline.C:
	case <-ctx.Done():
		c.state.CompareAndSwap(waiting, abandoned)
		return ctx.Err()
	}
	if c.state.CompareAndSwap(waiting, abandoned) {
		return errTimeoutNotSent
	}
	select {
	case <-c.done: // both at once: the reply counts
		return c.command.Err()
	default:
		return errTimeoutSent
	}
}

func (p *pipe) enqueue(c *call) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.closed:
		return ErrClosed
	case len(p.queue) >= maxQueued:
		return errOverloaded
	}
	p.queue = append(p.queue, c)
	switch {
	case p.idle > 0:
		p.idle--
		p.wake <- struct{}{} // has room: one for each that was idle
	case p.workers < maxPipelines:
		p.workers++
		go p.work()
	}
	return nil
}

// work sends batches until it has been idle for workerLinger.
func (p *pipe) work() {
	linger := time.NewTimer(workerLinger)
	defer linger.Stop()
	commands := make([]redis.Cmder, 0, 16)
	for {
		batch := p.take()
		if len(batch) > 0 {
			commands = commands[:0]
			for _, c := range batch {
				commands = append(commands, c.command)
			}
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			p.sender.send(ctx, commands)
			cancel()
			for _, c := range batch {
				close(c.done)
			}
			clear(commands)
			continue
		}
		if !p.await(linger) {
			return
		}
	}
}

// take removes the next commands to send from the queue, and drops those whose callers have left.
func (p *pipe) take() []*call {
	p.mu.Lock()
	n := min(len(p.queue), maxBatch)
	batch := p.queue[:n:n]
	p.queue = p.queue[n:]
	if len(p.queue) == 0 {
		p.queue = nil
	}
	p.mu.Unlock()
	kept := batch[:0]
	for _, c := range batch {
		if c.state.CompareAndSwap(waiting, sent) {
			kept = append(kept, c)
		}
	}
	return kept
}

// await makes the worker idle until there is something to send; it reports false when the worker is to end.
func (p *pipe) await(linger *time.Timer) bool {
	p.mu.Lock()
	if len(p.queue) > 0 {
		p.mu.Unlock()
		return true
	}
	if p.closed {
		p.workers--
		p.mu.Unlock()
		return false
	}
	p.idle++
	p.mu.Unlock()
	linger.Reset(workerLinger)
	select {
	case <-p.wake:
		return true
	case <-p.done:
	case <-linger.C:
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.wake: // woken after all
		return true
	default:
	}
	p.idle--
	p.workers--
	return false
}

// close refuses new commands. Those queued or in flight are completed.
func (p *pipe) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.closed = true
		close(p.done)
	}
}
