package admin

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/stintdb/stint/internal/clusterstatus"
	"github.com/stintdb/stint/internal/unauthenticated"
	"github.com/stintdb/stint/server"
	"github.com/stintdb/stint/server/config"
	"github.com/stintdb/stint/server/events"
	"github.com/stintdb/stint/server/netio"
)

// Admin is the HTTP server for operators.
type Admin struct {
	log      *slog.Logger
	token    *[tokenBytes]byte // the hash of the token, nil if none is asked for
	host     string            // of the address, which requests may name
	address  string
	secure   bool                          // with TLS
	about    atomic.Pointer[server.Server] // nil until it is there
	scraper  http.Handler
	fills    fills
	history  *history // five minutes
	minute   *history // the last one
	traffic  *traffic
	bites    bites
	counts   counts
	watched  atomic.Int64 // when the page asked last, in nanoseconds since the Unix epoch
	problems problems
	watch    watch

	setting   sync.Mutex // one policy at a time, so that nothing changes it between the check of its version and the change
	replaying sync.Mutex // one replay at a time: it takes a processor

	http  *http.Server
	ended chan struct{}

	recording sync.Once      // begins with the first Attach
	recorder  sync.WaitGroup // of the goroutine that does
	stop      chan struct{}  // closed by Close, once
	stopped   sync.Once

	backingUp sync.Mutex      // held while a backup is being sent
	ending    context.Context // ends with Close
	end       context.CancelFunc

	wrongTokens unauthenticated.Refusals
}

// The bounds of the HTTP server.
const (
	maxHeaderBytes  = 16 << 10
	slopBytes       = 4 << 10 // that net/http adds to its bound of a header
	maxBodyBytes    = 64 << 10
	headerTimeout   = 5 * time.Second
	readTimeout     = 10 * time.Second
	writeTimeout    = 2 * time.Minute // a profile takes long
	idleTimeout     = 5 * time.Second
	shutdownTimeout = time.Second
)

// Listen starts the HTTP server at the address the settings name. It is nil without an error if they name none, or if the
// address is the default and taken: nobody asked for it, and two servers on a machine must not stand in each other's way.
// Connections bounds those that have not shown the token; a quarter as many that have come on top.
func Listen(cfg *config.Config, connections int, log *slog.Logger) (*Admin, error) {
	address := cfg.AdminAddress()
	if address == "" {
		if cfg.Admin != "" {
			log.Warn("no metrics, health or admin page: their default address is used by another setting; choose one with --admin", "admin", cfg.Admin)
		}
		return nil, nil
	}
	var secrets *tls.Config
	if cfg.AdminTLS {
		var err error
		if secrets, err = netio.LoadTLS(cfg); err != nil {
			return nil, err
		}
	}
	listener, err := net.Listen("tcp", address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE) && cfg.AdminIsDefault():
		log.Warn("no metrics, health or admin page: their default address is in use; choose another with --admin", "admin", address)
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("cannot listen on %s: %w; choose another address with --admin", address, err)
	}
	host, _, _ := net.SplitHostPort(address)
	a := &Admin{log: log, token: hashOf(cfg.AdminToken), host: host, address: listener.Addr().String(), history: newHistory(historySize), minute: newHistory(1), traffic: newTraffic(), ended: make(chan struct{}), stop: make(chan struct{})}
	a.scraper = a.newScraper()
	a.ending, a.end = context.WithCancel(context.Background())
	a.http = &http.Server{
		Handler: a.handler(cfg.Pprof), ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
		ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes - slopBytes, ConnContext: withConn,
	}
	listener = &boundedListener{Listener: listener, most: connections}
	if a.secure = secrets != nil; a.secure {
		listener = tls.NewListener(listener, a.withTLS(secrets))
	}
	go func() {
		defer close(a.ended)
		if err := a.http.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			log.Error("the admin HTTP server stopped", "error", err)
		}
	}()
	return a, nil
}

// withTLS uses the certificate of the attached server. Before a server is attached, it uses first. Clients show the token in place of a
// certificate, so that health checks and browsers need none.
func (a *Admin) withTLS(first *tls.Config) *tls.Config {
	return &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		current := first
		if s := a.about.Load(); s != nil && s.TLS() != nil {
			current = s.TLS()
		}
		current = current.Clone()
		current.ClientAuth, current.ClientCAs = tls.NoClientCert, nil
		return current, nil
	}}
}

// Address is where the server listens, with the port it got.
func (a *Admin) Address() string { return a.address }

// URL is the address of the page.
func (a *Admin) URL() string {
	if a.secure {
		return "https://" + a.address
	}
	return "http://" + a.address
}

// Attach sets the server to report on, once it exists.
func (a *Admin) Attach(s *server.Server) {
	if a != nil {
		a.about.Store(s)
		a.recording.Do(func() {
			s.Events().Add(s.Now(), clusterstatus.Event{Kind: events.Start, Text: "This server started"})
			a.recorder.Go(func() { a.record(s) })
		})
	}
}

// Close ends it: requests being answered have a second, and backups end at once.
func (a *Admin) Close() {
	if a == nil {
		return
	}
	a.end()
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
	defer cancel()
	if a.http.Shutdown(ctx) != nil {
		_ = a.http.Close()
	}
	a.stopped.Do(func() { close(a.stop) })
	a.recorder.Wait()
	a.backingUp.Lock() // a backup reads the store, which ends next; later ones find that ending is over
	defer a.backingUp.Unlock()
	<-a.ended
}
