// Package closenotify ends TLS connections without the wait of crypto/tls: tls.Conn.Close sends the alert close_notify,
// and waits up to five seconds for a peer that does not read.
package closenotify

import (
	"crypto/tls"
	"net"
	"time"
)

// Within closes a connection with the alert, for which it waits no longer than that.
func Within(wait time.Duration, c *tls.Conn) {
	late := time.AfterFunc(wait, func() { _ = c.NetConn().Close() })
	defer late.Stop()
	_ = c.Close()
}

// Without returns a connection that is closed without the alert, at once. It is for protocols that mark the end of each
// message: to them an alert says nothing. Others could not tell an end from a connection that was cut.
func Without(c *tls.Conn) net.Conn { return abrupt{c} }

type abrupt struct{ *tls.Conn }

// Close implements net.Conn.
func (a abrupt) Close() error { return a.NetConn().Close() }

// Listen returns a listener whose connections are inside TLS, and closed as [Without] does.
func Listen(l net.Listener, config *tls.Config) net.Listener { return listener{l, config} }

type listener struct {
	net.Listener
	config *tls.Config
}

// Accept implements net.Listener.
func (l listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return Without(tls.Server(c, l.config)), nil
}
