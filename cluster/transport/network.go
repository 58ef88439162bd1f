// Package transport connects the nodes of a cluster, by connections with a handshake for Raft, for calls and for RPCs,
// and hides failures of Raft's messages from Raft.
package transport

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"time"

	"github.com/stintdb/stint/internal/closenotify"
)

// Network is how nodes reach each other.
type Network interface {
	Listen(address string) (net.Listener, error)
	Dial(ctx context.Context, address string) (net.Conn, error)
}

// TCP is a Network over TCP, with TLS if there is a configuration for it. Connections are closed at once, even if the
// other node hangs.
type TCP struct {
	TLS         *tls.Config
	Authorities func() *x509.CertPool // have to have signed the other side's certificate; nil for the authorities in TLS
}

// config returns the configuration for a new connection.
func (t TCP) config() *tls.Config {
	if t.Authorities == nil {
		return t.TLS
	}
	c := t.TLS.Clone()
	c.RootCAs = t.Authorities()
	c.ClientCAs = c.RootCAs
	return c
}

// listenTimeout bounds the look-up of the name to listen on.
const listenTimeout = 10 * time.Second

func listen(ctx context.Context, address string) (net.Listener, error) {
	return new(net.ListenConfig).Listen(ctx, "tcp", address)
}

// Listen implements [Network].
func (t TCP) Listen(address string) (net.Listener, error) {
	ctx, cancel := context.WithTimeout(context.Background(), listenTimeout)
	defer cancel()
	l, err := listen(ctx, address)
	if err != nil || t.TLS == nil {
		return l, err
	}
	fresh := func(*tls.ClientHelloInfo) (*tls.Config, error) { return t.config(), nil }
	return closenotify.Listen(l, &tls.Config{MinVersion: t.TLS.MinVersion, GetConfigForClient: fresh}), nil
}

// Dial implements [Network].
func (t TCP) Dial(ctx context.Context, address string) (net.Conn, error) {
	if t.TLS == nil {
		return new(net.Dialer).DialContext(ctx, "tcp", address)
	}
	conn, err := (&tls.Dialer{Config: t.config()}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	return closenotify.Without(conn.(*tls.Conn)), nil
}
