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

// boundedListener limits its connections. If there are too many without the token, a new one replaces an idle one, so
// that a health check succeeds no matter how many are kept open. Connections that have shown the token are limited
// separately.
type boundedListener struct {
	net.Listener
	most            int // the connections without the token; a quarter as many may have shown it
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

// CloseWrite ends the stream of replies properly. net/http calls it after the reply to a request that it did not read
// completely.
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
