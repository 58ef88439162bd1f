package netio

import (
	"errors"
	"fmt"
	"net"
	"sync/atomic"

	"github.com/stintdb/stint/server/conn"
)

// EventLoops serve the plain connections. The acceptor assigns connections to them.
type EventLoops struct {
	loops    []eventLoop
	next     atomic.Uint64
	handoffs chan struct{} // holds one for each connection on its way to a loop
}

// eventLoop serves many connections: on Linux on one thread by epoll, elsewhere by a goroutine for each.
type eventLoop interface {
	// assign has the loop serve a connection, without waiting for it. done is called when the loop has it, or with the
	// reason why the connection was closed instead.
	assign(client net.Conn, from origin, done func(error))
	// stop closes the connections and ends the loop.
	stop() error
}

// MaxHandoffs bounds the connections on their way to a loop unless the options do. More are not accepted.
const MaxHandoffs = 256

// StartEventLoops starts count event loops. At most handoffs connections are on their way to a loop at a time. With
// keepProcessors each may keep a processor of Go's runtime while it waits, so there must be others.
func StartEventLoops(env *conn.Env, lag *LoopLag, count, handoffs int, keepProcessors bool) (*EventLoops, error) {
	l := &EventLoops{handoffs: make(chan struct{}, handoffs)}
	for range count {
		one, err := startEventLoop(env, lag, keepProcessors)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("cannot start the event loops: %w", err), l.Stop())
		}
		l.loops = append(l.loops, one)
	}
	return l, nil
}

// Assign gives a connection to the loop whose turn it is. It does not wait for the loop, which may be busy.
func (l *EventLoops) Assign(client net.Conn, failed func(error)) {
	one := l.loops[l.next.Add(1)%uint64(len(l.loops))]
	from := origin{RemoteOf(client), client.LocalAddr().String()}
	l.handoffs <- struct{}{}
	one.assign(client, from, func(err error) {
		<-l.handoffs
		if err != nil {
			failed(err)
		}
	})
}

// Stop ends the loops and closes their remaining connections. No connection may be assigned after it.
func (l *EventLoops) Stop() (err error) {
	for _, one := range l.loops {
		err = errors.Join(err, one.stop())
	}
	return err
}

// origin is the addresses of a connection.
type origin struct{ remote, local string }

// openSession returns the registered session of a new connection, or why there is none. later is what
// [conn.Session.Attach] takes.
func openSession(env *conn.Env, from origin, link conn.ReplyConn, wake func(), later func(func())) (*conn.Session, error) {
	if env.Draining.Load() {
		return nil, net.ErrClosed
	}
	s := env.NewSession(from.remote, from.local, wake)
	s.Attach(link, later)
	return s, env.Registry.Admit(s.Public())
}

// refusal is the error for a client whose connection is closed then.
func refusal(err error) []byte {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return []byte("-" + err.Error() + "\r\n")
}
