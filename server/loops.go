package server

import (
	"fmt"
	"log/slog"

	"github.com/panjf2000/gnet/v2"
)

// loops connects gnet's event loops to sessions: it moves bytes and opens and closes, and decides nothing.
type loops struct {
	gnet.BuiltinEventEngine
	*Server
	booted chan struct{}
}

// OnBoot implements gnet.EventHandler.
func (l *loops) OnBoot(e gnet.Engine) gnet.Action {
	l.engine = e
	close(l.booted)
	return gnet.None
}

// OnOpen implements gnet.EventHandler.
func (l *loops) OnOpen(c gnet.Conn) (out []byte, action gnet.Action) {
	if l.draining.Load() {
		return nil, gnet.Close
	}
	_ = c.SetKeepAlivePeriod(keepAlive) // not for unix sockets
	s := l.newSession(c.RemoteAddr().String(), c.LocalAddr().String(), func() { _ = c.Wake(nil) })
	if err := l.admit(s); err != nil {
		return []byte("-" + err.Error() + "\r\n"), gnet.Close
	}
	s.link = loopLink{c}
	l.lag.add(c.EventLoop())
	c.SetContext(s)
	return nil, gnet.None
}

// OnClose implements gnet.EventHandler.
func (l *loops) OnClose(c gnet.Conn, _ error) gnet.Action {
	if s, ok := c.Context().(*session); ok {
		l.leave(s)
	}
	return gnet.None
}

// OnTraffic implements gnet.EventHandler: bytes have arrived, or the session asked to be woken.
func (l *loops) OnTraffic(c gnet.Conn) gnet.Action {
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
