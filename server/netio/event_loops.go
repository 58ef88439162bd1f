package netio

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/panjf2000/gnet/v2"
	"github.com/stintdb/stint/server/conn"
)

// EventLoops are gnet's event loops. Each is a separate engine, and the acceptor assigns connections to it. gnet's own listeners
// can't be closed before its loops end, and its loops end when they cannot accept a connection for want of file descriptors.
type EventLoops struct {
	engines  []*gnet.Client
	next     atomic.Uint64
	handoffs chan struct{} // holds one for each connection on its way to a loop
	running  sync.WaitGroup
}

const (
	readBufferBytes  = 64 << 10 // most bytes taken from a connection at a time
	writeBufferBytes = 64 << 10
)

// MaxHandoffs bounds the connections on their way to a loop unless the options do. More are not accepted.
const MaxHandoffs = 256

// StartEventLoops starts count event loops. At most handoffs connections are on their way to a
// loop at a time.
func StartEventLoops(env *conn.Env, lag *LoopLag, count, handoffs int) (*EventLoops, error) {
	l := &EventLoops{handoffs: make(chan struct{}, handoffs)}
	for range count {
		engine, err := gnet.NewClient(&handler{env: env, lag: lag, writes: &pendingWrites{}, wakes: &pendingWakes{}}, gnet.WithNumEventLoop(1),
			gnet.WithReadBufferCap(readBufferBytes), gnet.WithWriteBufferCap(writeBufferBytes),
			gnet.WithTCPNoDelay(gnet.TCPDelay), // for package net has set it the other way
			gnet.WithLogger(quietLogger{env.Log}))
		if err == nil {
			err = engine.Start()
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("cannot start the event loops: %w", err), l.Stop())
		}
		l.engines = append(l.engines, engine)
	}
	return l, nil
}

// Assign gives a connection to the loop whose turn it is. It does not wait for the loop, which may be busy.
func (l *EventLoops) Assign(client net.Conn, failed func(error)) {
	engine := l.engines[l.next.Add(1)%uint64(len(l.engines))]
	from := &origin{RemoteOf(client), client.LocalAddr().String()}
	l.handoffs <- struct{}{}
	l.running.Go(func() {
		if _, err := engine.EnrollContext(client, from); err != nil { // which has closed it
			failed(err)
		}
		<-l.handoffs
	})
}

// Stop ends the loops and closes their remaining connections. No connection may be assigned after it.
func (l *EventLoops) Stop() (err error) {
	l.running.Wait()
	for _, engine := range l.engines {
		err = errors.Join(err, engine.Stop())
	}
	return err
}

// origin is the addresses of a connection. It is the connection's context until it is open.
type origin struct{ remote, local string }

// handler connects an event loop to sessions: it moves bytes, opens and closes connections, and makes no decisions.
type handler struct {
	gnet.BuiltinEventEngine
	env    *conn.Env
	lag    *LoopLag
	writes *pendingWrites
	wakes  *pendingWakes
}

// OnOpen implements gnet.EventHandler.
func (h *handler) OnOpen(c gnet.Conn) (out []byte, action gnet.Action) {
	from, ok := c.Context().(*origin)
	if !ok || h.env.Draining.Load() {
		return nil, gnet.Close
	}
	l := &eventLoopConn{Conn: c, loop: c.EventLoop(), writes: h.writes, wakes: h.wakes}
	s := h.env.NewSession(from.remote, from.local, l.wake)
	if err := h.env.Registry.Admit(s); err != nil {
		l.closed = true
		return []byte("-" + err.Error() + "\r\n"), gnet.Close
	}
	l.session = s
	s.Attach(l, func(f func()) { time.AfterFunc(yieldPause, f) })
	h.lag.Add(l.loop)
	c.SetContext(l)
	return nil, gnet.None
}

// yieldPause is the pause of a connection that has used up its share of a turn, in which the loop serves others. An
// immediate wake-up would come before their input: a loop handles all wake-ups, also those that arrive while it does so,
// before it polls.
const yieldPause = 50 * time.Microsecond

// OnClose implements gnet.EventHandler.
func (h *handler) OnClose(c gnet.Conn, _ error) gnet.Action {
	if l, ok := c.Context().(*eventLoopConn); ok {
		l.end()
		h.env.Registry.Unregister(l.session)
	}
	return gnet.None
}

// OnTraffic implements gnet.EventHandler: bytes have arrived.
func (h *handler) OnTraffic(c gnet.Conn) gnet.Action {
	l, ok := c.Context().(*eventLoopConn)
	if !ok {
		return gnet.Close
	}
	in, _ := c.Next(-1)
	if l.session.ServeInput(in) {
		return gnet.Close
	}
	return gnet.None
}

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
