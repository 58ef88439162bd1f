package admin

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/stintdb/stint/server"
	"github.com/stintdb/stint/server/config"
)

// Admin is the HTTP server for operators.
type Admin struct {
	log     *slog.Logger
	token   *[tokenBytes]byte // the hash of the token, nil if none is asked for
	host    string            // of the address, which requests may name
	address string
	about   atomic.Pointer[server.Server] // nil until it is there
	scraper http.Handler
	fills   fills
	http    *http.Server
	ended   chan struct{}
}

// The bounds of the HTTP server.
const (
	maxConnections  = 256
	maxHeaderBytes  = 16 << 10
	maxBodyBytes    = 64 << 10
	headerTimeout   = 5 * time.Second
	readTimeout     = 10 * time.Second
	writeTimeout    = 2 * time.Minute // a profile takes long
	idleTimeout     = time.Minute
	shutdownTimeout = time.Second
)

// Listen starts the HTTP server at the address the settings name. It is nil without an error if they name none, or if the
// address is the default and taken: nobody asked for it, and two servers on a machine must not stand in each other's way.
func Listen(cfg *config.Config, log *slog.Logger) (*Admin, error) {
	address := cfg.AdminAddress()
	if address == "" {
		if cfg.Admin != "" {
			log.Warn("no metrics, health or page for operators: the default address for them is used otherwise; choose one with --admin", "admin", cfg.Admin)
		}
		return nil, nil
	}
	listener, err := net.Listen("tcp", address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE) && cfg.AdminIsDefault():
		log.Warn("no metrics, health or page for operators: the default address for them is taken; choose another with --admin", "admin", address)
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("cannot listen on %s: %w; choose another address with --admin", address, err)
	}
	host, _, _ := net.SplitHostPort(address)
	a := &Admin{log: log, token: hashOf(cfg.AdminToken), host: host, address: listener.Addr().String(), ended: make(chan struct{})}
	a.scraper = a.newScraper()
	a.http = &http.Server{
		Handler: a.handler(cfg.Pprof), ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
		ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes,
	}
	go func() {
		defer close(a.ended)
		if err := a.http.Serve(bounded(listener, maxConnections)); !errors.Is(err, http.ErrServerClosed) {
			log.Error("the HTTP server for operators has ended", "error", err)
		}
	}()
	return a, nil
}

// Address is where the server listens, with the port it got.
func (a *Admin) Address() string { return a.address }

// Attach tells what the server is about, once that is there.
func (a *Admin) Attach(s *server.Server) {
	if a != nil {
		a.about.Store(s)
	}
}

// Close ends it: requests being answered have a second.
func (a *Admin) Close() {
	if a == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
	defer cancel()
	if a.http.Shutdown(ctx) != nil {
		_ = a.http.Close()
	}
	<-a.ended
}

// boundedListener closes connections beyond a number at once.
type boundedListener struct {
	net.Listener
	open chan struct{}
}

func bounded(l net.Listener, most int) net.Listener {
	return &boundedListener{l, make(chan struct{}, most)}
}

// Accept implements net.Listener.
func (l *boundedListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		select {
		case l.open <- struct{}{}:
			return &boundedConn{Conn: conn, open: l.open}, nil
		default:
			conn.Close()
		}
	}
}

type boundedConn struct {
	net.Conn
	open   chan struct{}
	closed atomic.Bool
}

// Close implements net.Conn.
func (c *boundedConn) Close() error {
	if !c.closed.Swap(true) {
		<-c.open
	}
	return c.Conn.Close()
}
