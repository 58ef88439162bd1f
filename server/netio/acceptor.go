package netio

import (
	"errors"
	"log/slog"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stintdb/stint/server/clock"
)

// Acceptor owns the listeners. A shutdown closes them first: the kernel then refuses new clients, which can try another
// node, while the server still answers the connected ones.
type Acceptor struct {
	mu        sync.Mutex
	listeners []net.Listener
	accepting sync.WaitGroup
}

// Add passes the connections of a listener to take, one after the other, and errors of accepting to failed.
func (a *Acceptor) Add(ln net.Listener, take func(net.Conn), failed func(error)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.listeners = append(a.listeners, ln)
	a.accepting.Go(func() { accept(ln, take, failed) })
}

// Close closes the listeners and returns when every accepted connection has an owner. It first accepts the connections
// in the kernel's queue, because closing a listener resets them.
func (a *Acceptor) Close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, ln := range a.listeners {
		if l, ok := ln.(interface{ SetDeadline(time.Time) error }); ok {
			_ = l.SetDeadline(time.Now().Add(acceptGrace)) // fails only for a listener that has failed
		}
	}
	time.Sleep(acceptGrace)
	CloseAll(a.listeners)
	a.listeners = nil
	a.accepting.Wait()
}

// accept takes connections until the listener is closed. After an error, most likely a lack of file descriptors, it
// tries again soon; new clients wait in the kernel's queue until then.
func accept(ln net.Listener, take func(net.Conn), failed func(error)) {
	for {
		conn, err := ln.Accept()
		switch {
		case errors.Is(err, net.ErrClosed), errors.Is(err, os.ErrDeadlineExceeded):
			return
		case err != nil:
			failed(err)
			time.Sleep(acceptRetry)
		default:
			take(conn)
		}
	}
}

const (
	acceptRetry = 50 * time.Millisecond
	// acceptGrace is the time for which connections are still accepted before the listeners close.
	acceptGrace = 5 * time.Millisecond
)

// CloseAll closes listeners that take no connections.
func CloseAll(listeners []net.Listener) {
	for _, ln := range listeners {
		ln.Close()
	}
}

// AcceptErrors logs failed accepts, at most once a minute.
type AcceptErrors struct {
	Clock *clock.Clock
	Log   *slog.Logger

	loggedAt atomic.Int64 // clock
}

// Note logs an error, unless one was logged less than a minute ago.
func (a *AcceptErrors) Note(err error) {
	now := a.Clock.Now()
	last := a.loggedAt.Load()
	if (last == 0 || now-last >= int64(time.Minute)) && a.loggedAt.CompareAndSwap(last, max(1, now)) {
		a.Log.Warn("cannot accept connections, so new clients wait or are refused; if the limit of open files is too low for --max-clients, raise it", "error", err)
	}
}
