package server

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/panjf2000/gnet/v2"
)

// loops are gnet's event loops, each as an engine of its own that is given connections one by one. gnet's own listeners
// can't be closed before its loops end, and its loops end when they cannot accept a connection for want of file descriptors.
type loops struct {
	engines []*gnet.Client
	last    atomic.Uint64
	handing chan struct{} // holds one for each connection on its way to a loop
	handed  sync.WaitGroup
}

// maxHanding bounds the connections on their way to a loop. More are not accepted.
const maxHanding = 256

// startLoops starts so many event loops, 0 for one on each core.
func (s *Server) startLoops(count int) (*loops, error) {
	if count == 0 {
		count = runtime.NumCPU()
	}
	l := &loops{handing: make(chan struct{}, maxHanding)}
	for range count {
		engine, err := gnet.NewClient(&handler{Server: s}, gnet.WithNumEventLoop(1),
			gnet.WithReadBufferCap(readBufferBytes), gnet.WithWriteBufferCap(writeBufferBytes),
			gnet.WithTCPNoDelay(gnet.TCPDelay), // for package net has set it the other way
			gnet.WithLogger(quietLogger{s.log}))
		if err == nil {
			err = engine.Start()
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("cannot start the event loops: %w", err), l.stop())
		}
		l.engines = append(l.engines, engine)
	}
	return l, nil
}

// take gives a connection to the loop whose turn it is. It does not wait for the loop, which may be busy.
func (l *loops) take(conn net.Conn, failed func(error)) {
	engine := l.engines[l.last.Add(1)%uint64(len(l.engines))]
	from := &origin{remoteOf(conn), conn.LocalAddr().String()}
	l.handing <- struct{}{}
	l.handed.Go(func() {
		if _, err := engine.EnrollContext(conn, from); err != nil { // which has closed it
			failed(err)
		}
		<-l.handing
	})
}

// stop ends the loops, and with them the connections that are left. Nothing may be taken any more.
func (l *loops) stop() (err error) {
	l.handed.Wait()
	for _, engine := range l.engines {
		err = errors.Join(err, engine.Stop())
	}
	return err
}

// origin is the addresses of a connection, which is what its context is until it is open.
type origin struct{ remote, local string }

// handler connects an event loop to sessions: it moves bytes and opens and closes, and decides nothing.
type handler struct {
	gnet.BuiltinEventEngine
	*Server
}

// OnOpen implements gnet.EventHandler.
func (h *handler) OnOpen(c gnet.Conn) (out []byte, action gnet.Action) {
	from, ok := c.Context().(*origin)
	if !ok || h.draining.Load() {
		return nil, gnet.Close
	}
	s := h.newSession(from.remote, from.local, func() { _ = c.Wake(nil) })
	if err := h.admit(s); err != nil {
		return []byte("-" + err.Error() + "\r\n"), gnet.Close
	}
	s.link = loopLink{c}
	h.lag.add(c.EventLoop())
	c.SetContext(s)
	return nil, gnet.None
}

// OnClose implements gnet.EventHandler.
func (h *handler) OnClose(c gnet.Conn, _ error) gnet.Action {
	if s, ok := c.Context().(*session); ok {
		h.leave(s)
	}
	return gnet.None
}

// OnTraffic implements gnet.EventHandler: bytes have arrived, or the session asked to be woken.
func (h *handler) OnTraffic(c gnet.Conn) gnet.Action {
	s, ok := c.Context().(*session)
	if !ok {
		return gnet.Close
	}
	in, _ := c.Next(-1)
	if s.turn(in) {
		return gnet.Close
	}
	return gnet.None
}

// loopLink is the link of a connection on an event loop.
type loopLink struct{ gnet.Conn }

// Unsent implements link.
func (l loopLink) Unsent() int { return l.OutboundBuffered() }

// quietLogger passes gnet's warnings and errors to the server's log.
type quietLogger struct{ log *slog.Logger }

func (q quietLogger) Debugf(string, ...any) {}
func (q quietLogger) Infof(string, ...any)  {}
func (q quietLogger) Warnf(format string, args ...any) {
	q.log.Warn("event loop", "message", fmt.Sprintf(format, args...))
}
func (q quietLogger) Errorf(format string, args ...any) {
	q.log.Error("event loop", "message", fmt.Sprintf(format, args...))
}
func (q quietLogger) Fatalf(format string, args ...any) { q.Errorf(format, args...) }
