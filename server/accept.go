package server

import (
	"errors"
	"net"
	"os"
	"sync"
	"time"
)

// gate is the listeners of a server, which it can close before anything else ends: who connects from then on is refused,
// and may ask another node, while those who are connected are still answered.
type gate struct {
	mu        sync.Mutex
	listeners []net.Listener
	accepting sync.WaitGroup
}

// add opens a listener and has what connects to it taken by take, one connection after the other.
func (g *gate) add(ln net.Listener, take func(net.Conn), failed func(error)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.listeners = append(g.listeners, ln)
	g.accepting.Go(func() { accept(ln, take, failed) })
}

// close closes the listeners, and returns when all that had been accepted has been taken. Who waits in the kernel's queue
// would be cut off, so what is in it is accepted first.
func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, ln := range g.listeners {
		if l, ok := ln.(interface{ SetDeadline(time.Time) error }); ok {
			_ = l.SetDeadline(time.Now().Add(lastCall)) // fails for a listener that is of no use anyway
		}
	}
	time.Sleep(lastCall)
	closeAll(g.listeners)
	g.listeners = nil
	g.accepting.Wait()
}

// accept takes connections until the listener is closed. Out of file descriptors, most likely, it tries again soon: who
// wants to connect waits in the kernel's queue meanwhile.
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
	// lastCall is how long connections are still accepted once the listeners are to close.
	lastCall = 5 * time.Millisecond
)

func closeAll(listeners []net.Listener) {
	for _, ln := range listeners {
		ln.Close()
	}
}

// cannotAccept logs why a connection could not be taken, once a minute.
func (s *Server) cannotAccept(err error) {
	now := s.clock.Now()
	last := s.refusedAt.Load()
	if (last == 0 || now-last >= int64(time.Minute)) && s.refusedAt.CompareAndSwap(last, max(1, now)) {
		s.log.Warn("cannot accept connections: new clients wait, or are turned away; raise the limit of open files if it is too low for --max-clients", "error", err)
	}
}
