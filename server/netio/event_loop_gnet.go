//go:build !linux || gnet

package netio

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/panjf2000/gnet/v2"
	"github.com/stintdb/stint/server/conn"
)

// gnetLoop is an event loop of gnet. Each is a separate engine: gnet's own listeners can't be closed before its loops end, and its
// loops end when they cannot accept a connection for want of file descriptors.
type gnetLoop struct {
	engine    *gnet.Client
	enrolling sync.WaitGroup
}

func startEventLoop(env *conn.Env, lag *LoopLag, _ bool) (eventLoop, error) {
	engine, err := gnet.NewClient(&gnetHandler{env: env, lag: lag}, gnet.WithNumEventLoop(1), gnet.WithReadBufferCap(readBufferBytes),
		gnet.WithTCPNoDelay(gnet.TCPDelay), // for package net has set it the other way
		gnet.WithLogger(quietLogger{env.Log}))
	if err == nil {
		err = engine.Start()
	}
	return &gnetLoop{engine: engine}, err
}

func (l *gnetLoop) assign(client net.Conn, from origin, done func(error)) {
	l.enrolling.Go(func() {
		_, err := l.engine.EnrollContext(client, &from) // which has closed it after an error
		done(err)
	})
}

func (l *gnetLoop) stop() error {
	l.enrolling.Wait()
	return l.engine.Stop()
}

// gnetHandler connects an event loop to sessions: it moves bytes, opens and closes connections, and makes no decisions.
type gnetHandler struct {
	gnet.BuiltinEventEngine
	env *conn.Env
	lag *LoopLag
}

// OnOpen implements gnet.EventHandler.
func (h *gnetHandler) OnOpen(c gnet.Conn) (out []byte, action gnet.Action) {
	from, ok := c.Context().(*origin)
	if !ok {
		return nil, gnet.Close
	}
	l := &gnetConn{Conn: c, loop: gnetTasks{c.EventLoop()}}
	s, err := openSession(h.env, *from, l, l.wake, func(f func()) { time.AfterFunc(yieldPause, f) })
	if err != nil {
		l.closed = true
		return refusal(err), gnet.Close
	}
	l.session = s
	h.lag.add(l.loop)
	c.SetContext(l)
	return nil, gnet.None
}

// yieldPause is the pause of a connection that has used up its share of a turn, in which the loop serves others. An
// immediate wake-up would come before their input: gnet runs all tasks, also those that arrive while it does so, before it polls.
const yieldPause = 50 * time.Microsecond

// OnClose implements gnet.EventHandler.
func (h *gnetHandler) OnClose(c gnet.Conn, _ error) gnet.Action {
	if l, ok := c.Context().(*gnetConn); ok {
		l.closed = true
		l.session.Unregister()
	}
	return gnet.None
}

// OnTraffic implements gnet.EventHandler: bytes have arrived.
func (h *gnetHandler) OnTraffic(c gnet.Conn) gnet.Action {
	l, ok := c.Context().(*gnetConn)
	if !ok {
		return gnet.Close
	}
	in, _ := c.Next(-1)
	if l.session.ServeInput(in) {
		return gnet.Close
	}
	return gnet.None
}

// gnetConn is the link of a connection on gnet's event loop.
type gnetConn struct {
	gnet.Conn
	session *conn.Session
	loop    gnetTasks
	woken   atomic.Bool // its task is still to run
	closed  bool
}

// wake has the session go on. Any goroutine may call it.
func (l *gnetConn) wake() {
	if l.woken.Swap(true) {
		return
	}
	l.loop.execute(func() {
		l.woken.Store(false) // what happens from now on is for another task
		if !l.closed && l.session.ServeInput(nil) {
			_ = l.loop.EventLoop.Close(l.Conn)
		}
	})
}

// WriteFinal implements conn.ReplyConn; closing the connection then ends the stream.
func (l *gnetConn) WriteFinal(b []byte) (int, error) { return l.Write(b) }

// Unsent implements conn.ReplyConn.
func (l *gnetConn) Unsent() int { return l.OutboundBuffered() }

// gnetTasks gives tasks to an event loop.
type gnetTasks struct{ gnet.EventLoop }

func (l gnetTasks) execute(task func()) bool {
	return l.Execute(context.Background(), gnet.RunnableFunc(func(context.Context) error {
		task()
		return nil
	})) == nil
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
