package server

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// secured is a connection over TLS. A goroutine of its own reads it and has the session carry out what came; a wake does
// so from another goroutine. Writes block, so a client that does not read is not read from either.
type secured struct {
	host *Server
	conn *tls.Conn
	s    *session

	mu    sync.Mutex // one turn at a time
	over  bool
	woken atomic.Bool

	writing atomic.Bool
}

// secrets are the certificates in use; replaced as a whole.
type secrets struct{ config *tls.Config }

// ReloadTLS reads certificate, key and client CA again, for connections from then on. On an error those in use stay.
func (s *Server) ReloadTLS() error {
	cfg := s.Config()
	certificate, err := tls.LoadX509KeyPair(cfg.TLSCert, cfg.TLSKey)
	if err != nil {
		return fmt.Errorf("the certificate of --tls-cert and --tls-key cannot be used: %w", err)
	}
	next := &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
	if cfg.TLSClientCA != "" {
		pem, err := os.ReadFile(cfg.TLSClientCA)
		if err != nil {
			return fmt.Errorf("the certificates of --tls-client-ca cannot be read: %w", err)
		}
		next.ClientCAs, next.ClientAuth = x509.NewCertPool(), tls.RequireAndVerifyClientCert
		if !next.ClientCAs.AppendCertsFromPEM(pem) {
			return fmt.Errorf("--tls-client-ca: %s holds no certificate in PEM", cfg.TLSClientCA)
		}
	}
	s.secrets.Store(&secrets{next})
	return nil
}

// listenTLS opens the addresses for TLS.
func (s *Server) listenTLS() (listeners []net.Listener, err error) {
	cfg := s.Config()
	if len(cfg.TLSListen) == 0 {
		return nil, nil
	}
	if err := s.ReloadTLS(); err != nil {
		return nil, err
	}
	return openAll(cfg.TLSListen, "--tls-listen")
}

// takeTLS serves a connection from then on.
func (s *Server) takeTLS(conn net.Conn) {
	fresh := func(*tls.ClientHelloInfo) (*tls.Config, error) { return s.secrets.Load().config, nil }
	c := &secured{host: s, conn: tls.Server(conn, &tls.Config{GetConfigForClient: fresh})}
	c.s = s.newSession(remoteOf(conn), conn.LocalAddr().String(), c.wake)
	c.s.link = c
	if err := s.admit(c.s); err != nil {
		conn.Close() // it cannot be told before a handshake, which is not worth its cost
		return
	}
	go c.serve()
}

// remoteOf is the client's address, "" of a unix socket.
func remoteOf(conn net.Conn) string {
	if a, ok := conn.RemoteAddr().(*net.TCPAddr); ok {
		return a.String()
	}
	return ""
}

// serve shakes hands and reads until the connection is over.
func (c *secured) serve() {
	defer c.end()
	hurry, cancel := context.WithTimeout(context.Background(), c.host.Config().AuthTimeout)
	err := c.conn.HandshakeContext(hurry)
	cancel()
	if err != nil {
		c.host.refuse(handshakeFailed)
		c.host.log.Debug("TLS handshake failed", "client", c.s.id, "addr", c.s.addr, "error", err)
		return
	}
	in := c.host.inputs.Get().(*[readChunk]byte)
	defer c.host.inputs.Put(in)
	for {
		n, err := c.conn.Read(in[:])
		if n > 0 && c.turn(in[:n]) || err != nil {
			return
		}
	}
}

// readChunk is the most that is taken from a TLS connection at a time, which is what one record holds.
const readChunk = 16 << 10

func (c *secured) turn(in []byte) (over bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over = c.over || c.s.turn(in); c.over {
		_ = c.conn.SetReadDeadline(time.Now()) // the reader may be waiting
	}
	return c.over
}

// wake has the session go on soon. It is called under locks, and by many at a time.
func (c *secured) wake() {
	if c.writing.Load() && c.s.killed.Load() {
		_ = c.conn.SetWriteDeadline(time.Now()) // its client may not be reading
	}
	if !c.woken.Swap(true) {
		go func() {
			c.woken.Store(false)
			c.turn(nil)
		}()
	}
}

// Write implements link.
func (c *secured) Write(b []byte) (int, error) {
	_ = c.conn.SetWriteDeadline(time.Now().Add(c.host.Config().OutputTimeout))
	c.writing.Store(true)
	defer c.writing.Store(false)
	n, err := c.conn.Write(b)
	if errors.Is(err, os.ErrDeadlineExceeded) && !c.s.killed.Load() {
		c.s.dropSlowReader(len(b) - n)
	}
	return n, err
}

// WriteLast implements link; what TLS says at the end follows by itself.
func (c *secured) WriteLast(b []byte) (int, error) { return c.Write(b) }

// Unsent implements link: what is written has been taken, by the kernel at least.
func (c *secured) Unsent() int { return 0 }

func (c *secured) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	c.host.leave(c.s)
	_ = c.conn.SetWriteDeadline(time.Now().Add(time.Second)) // for what TLS says at the end
	_ = c.conn.Close()
}
