package gateway

import (
	"crypto/tls"
	"net"
	"sync"
	"sync/atomic"

	"github.com/stintdb/stint/server/conn"
	"github.com/stintdb/stint/server/netio"
)

// listener admits connections as the server does those of RESP: --max-clients, --max-clients-per-address and, but for
// those that show a certificate, protected mode hold.
type listener struct {
	net.Listener
	gateway   *Gateway
	certified bool
}

// Addresses are the addresses of a setting such as --http-listen.
type Addresses struct {
	All       []string
	Setting   string
	Shown     string   // after each, such as HTTP
	Protocols []string // of the application, by TLS with the server's certificates; nil for no TLS
	Certified bool     // by TLS, clients show a certificate of --tls-client-ca: protected mode lets them in
}

// Listen opens addresses, all or none. Connections of the listeners are a [Conn], within one of TLS if there are
// protocols. It also returns the addresses as the server shows them.
func (g *Gateway) Listen(all ...Addresses) (listeners []net.Listener, shown []string, err error) {
	for _, a := range all {
		opened, err := netio.OpenAll(a.All, a.Setting)
		if err != nil {
			netio.CloseAll(listeners)
			return nil, nil, err
		}
		for _, ln := range opened {
			shown = append(shown, ln.Addr().String()+" ("+a.Shown+")")
			if ln = (&listener{ln, g, a.Certified}); a.Protocols != nil {
				ln = tls.NewListener(ln, g.tlsConfig(a.Protocols))
			}
			listeners = append(listeners, ln)
		}
	}
	return listeners, shown, nil
}

// tlsConfig asks for the certificates in use at each handshake.
func (g *Gateway) tlsConfig(protocols []string) *tls.Config {
	return &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		c := g.server.TLS().Clone()
		c.NextProtos = protocols
		return c, nil
	}}
}

// Accept implements net.Listener. Connections that are not admitted are closed.
func (l *listener) Accept() (net.Conn, error) {
	for {
		nc, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		c := &Conn{Conn: nc, of: l}
		c.session = l.gateway.env.NewSession(netio.RemoteOf(nc), nc.LocalAddr().String(), c.wake)
		admit := l.gateway.env.Registry.Admit
		if l.certified {
			admit = l.gateway.env.Registry.AdmitCertified
		}
		if admit(c.session.Public()) == nil {
			return c, nil
		}
		_ = nc.Close()
	}
}

// Conn is a connection of a client that speaks another protocol. CLIENT LIST shows it, and CLIENT KILL closes it.
type Conn struct {
	net.Conn
	of      *listener
	session *conn.Session
	login   atomic.Pointer[login]
	closed  sync.Once
}

// ConnOf returns the Conn of a connection that came from a listener of [Gateway.Listen].
func ConnOf(c net.Conn) *Conn {
	if secure, is := c.(*tls.Conn); is {
		c = secure.NetConn()
	}
	return c.(*Conn)
}

// Address is the client's, HOST:PORT; "" of a unix socket.
func (c *Conn) Address() string { return c.session.Public().Addr() }

// Read implements net.Conn.
func (c *Conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 {
		c.session.Public().Touch()
	}
	return n, err
}

// CloseWrite ends the stream of answers in good order: net/http calls it after an answer to a request that it did not
// read to its end.
func (c *Conn) CloseWrite() error { return netio.HalfClose(c.Conn) }

// Close implements net.Conn.
func (c *Conn) Close() error {
	if !c.session.Public().IsKilled() {
		netio.EndStream(c.Conn)
	}
	c.closed.Do(func() { c.session.Unregister() })
	return c.Conn.Close()
}

// wake is called under locks. It closes a connection that was killed; reads and writes under way end with an error.
func (c *Conn) wake() {
	if c.session.Public().IsKilled() {
		go func() { _ = c.Close() }()
	}
}

// Hold counts the bytes of a request as the connection's buffers, until Release. It reports whether there is room for them.
func (c *Conn) Hold(request []byte) bool { return !c.session.Public().BeginWrite(request) }

// Release ends a Hold.
func (c *Conn) Release(request []byte) { c.session.Public().EndWrite(request) }
