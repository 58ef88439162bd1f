package netio

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"time"

	"github.com/stintdb/stint/internal/closenotify"
	"github.com/stintdb/stint/internal/keypair"
	"github.com/stintdb/stint/server/config"
	"github.com/stintdb/stint/server/conn"
	"github.com/stintdb/stint/server/stats"
)

// tlsConn is a connection over TLS.
type tlsConn struct {
	blockingConn
	of        *TLSServer
	tls       *tls.Conn
	handshake *handshakeConn
}

// TLSServer serves connections over TLS.
type TLSServer struct {
	env    *conn.Env
	config atomic.Pointer[tls.Config] // certificates in use; replaced as a whole
}

// NewTLSServer returns a server without certificates.
func NewTLSServer(env *conn.Env) *TLSServer { return &TLSServer{env: env} }

// Reload reads certificate, key and client CA again; the next connections have them. On an error those in use stay. A
// certificate that is not valid now is logged, and used: clients may not check it.
func (s *TLSServer) Reload() error {
	cfg := s.env.Settings.Load()
	next, err := LoadTLS(cfg)
	if err != nil {
		return err
	}
	s.config.Store(next)
	if err := keypair.OutOfDate("tls-cert", cfg.TLSCert, next.Certificates[0].Leaf, time.Now()); err != nil {
		s.env.Log.Warn("clients that verify the certificate will not connect", "error", err)
	}
	return nil
}

// LoadTLS reads the certificate, key and client CA that the settings name.
func LoadTLS(cfg *config.Config) (*tls.Config, error) {
	certificate, err := keypair.Load("tls-cert", cfg.TLSCert, "tls-key", cfg.TLSKey)
	if err != nil {
		return nil, err
	}
	all := &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
	if cfg.TLSClientCA != "" {
		pem, err := os.ReadFile(cfg.TLSClientCA)
		if err != nil {
			return nil, fmt.Errorf("the certificates of --tls-client-ca cannot be read: %w", err)
		}
		all.ClientCAs, all.ClientAuth = x509.NewCertPool(), tls.RequireAndVerifyClientCert
		if !all.ClientCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("--tls-client-ca: %s contains no certificate in PEM", cfg.TLSClientCA)
		}
	}
	return all, nil
}

// Config returns the certificates in use, nil if none were loaded.
func (s *TLSServer) Config() *tls.Config { return s.config.Load() }

// Listen loads the certificates, if there are any, and opens the addresses for TLS.
func (s *TLSServer) Listen() (listeners []net.Listener, err error) {
	cfg := s.env.Settings.Load()
	if cfg.TLSCert == "" {
		return nil, nil
	}
	if err := s.Reload(); err != nil {
		return nil, err
	}
	return OpenAll(cfg.TLSListen, "--tls-listen")
}

// Serve serves a connection from then on.
func (s *TLSServer) Serve(client net.Conn) {
	fresh := func(*tls.ClientHelloInfo) (*tls.Config, error) { return s.config.Load(), nil }
	c := &tlsConn{of: s}
	c.handshake = &handshakeConn{Conn: client, of: c}
	c.tls = tls.Server(c.handshake, &tls.Config{GetConfigForClient: fresh})
	c.begin(s.env, c.tls)
	c.s = s.env.NewSession(RemoteOf(client), client.LocalAddr().String(), c.wake)
	c.s.Attach(c, nil)
	if err := s.env.Registry.Admit(c.s.Public()); err != nil {
		client.Close() // an error needs a handshake first, which costs too much here
		return
	}
	go c.serve()
}

// RemoteOf is the client's address, "" of a unix socket.
func RemoteOf(conn net.Conn) string {
	if a, ok := conn.RemoteAddr().(*net.TCPAddr); ok {
		return a.String()
	}
	return ""
}

// serve shakes hands and reads until the connection is over.
func (c *tlsConn) serve() {
	defer c.end(func() { closenotify.Within(time.Second, c.tls) })
	hurry, cancel := context.WithTimeout(context.Background(), c.env.Settings.Load().AuthTimeout)
	err := c.tls.HandshakeContext(hurry)
	cancel()
	if err != nil {
		c.env.Stats.Reject(stats.HandshakeFailed)
		c.env.Log.Debug("TLS handshake failed", "client", c.s.Public().ID(), "addr", c.s.Public().Addr(), "error", err)
		return
	}
	c.handshake.end()
	c.read()
}

// handshakeConn is a connection whose handshake counts as its buffers: TLS keeps all of it, about twice, until it is
// over.
type handshakeConn struct {
	net.Conn
	of   *tlsConn
	over bool
}

// longHandshake is the length from which TLS's buffers are still large after a handshake.
const longHandshake = 16 << 10

// Read implements net.Conn.
func (h *handshakeConn) Read(b []byte) (int, error) {
	n, err := h.Conn.Read(b)
	if n > 0 && !h.over && h.of.countHandshake(2*n) {
		return 0, conn.ErrClientMemory
	}
	return n, err
}

func (h *handshakeConn) end() {
	h.over = true
	if held := h.of.s.HandshakeBytes(); held <= 2*longHandshake {
		h.of.countHandshake(-held)
	}
}

// countHandshake counts bytes of the handshake, and reports that they are too much.
func (c *tlsConn) countHandshake(bytes int) (tooMuch bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.s.CountHandshake(bytes)
}
