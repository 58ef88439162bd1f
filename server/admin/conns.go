package admin

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync/atomic"

	"github.com/stintdb/stint/internal/unauthenticated"
	"github.com/stintdb/stint/server/netio"
)

// boundedListener bounds its connections. One more without the token takes the place of one that is idle, so that a
// health check gets through however many are kept open; those that have shown the token are apart.
type boundedListener struct {
	net.Listener
	most            int // without the token, and a quarter of it with the token
	unauthenticated unauthenticated.Conns[*boundedConn]
	authenticated   atomic.Int64
}

// boundedConn is a connection of a boundedListener.
type boundedConn struct {
	net.Conn
	of            *boundedListener
	network       string
	authenticated atomic.Bool
}

// Accept implements net.Listener.
func (l *boundedListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &boundedConn{Conn: conn, of: l, network: unauthenticated.Network(conn.RemoteAddr().String())}
	if evicted, is := l.unauthenticated.Add(c, c.network, l.most); is {
		_ = evicted.Conn.Close()
	}
	return c, nil
}

// CloseWrite ends the stream of answers in good order: net/http calls it after an answer to a request that it did not read to its end.
func (c *boundedConn) CloseWrite() error { return netio.HalfClose(c.Conn) }

// Close implements net.Conn.
func (c *boundedConn) Close() error {
	netio.EndStream(c.Conn)
	c.of.unauthenticated.Remove(c)
	if c.authenticated.Swap(false) {
		c.of.authenticated.Add(-1)
	}
	return c.Conn.Close()
}

// authenticate notes that the token was shown.
func (c *boundedConn) authenticate() {
	if c.authenticated.Load() {
		return
	}
	if c.of.authenticated.Add(1) > max(1, int64(c.of.most/4)) || !c.of.unauthenticated.Remove(c) {
		c.of.authenticated.Add(-1)
		return
	}
	c.authenticated.Store(true)
}

// touch notes that the connection is in use.
func (c *boundedConn) touch() { c.of.unauthenticated.Touch(c) }

type connKey struct{}

// withConn keeps the connection in the context of its requests.
func withConn(ctx context.Context, conn net.Conn) context.Context {
	if secure, is := conn.(*tls.Conn); is {
		conn = secure.NetConn()
	}
	return context.WithValue(ctx, connKey{}, conn)
}

func connOf(r *http.Request) *boundedConn { return r.Context().Value(connKey{}).(*boundedConn) }
