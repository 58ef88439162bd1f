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
	"github.com/stintdb/stint/server/admin/traffic"
	"github.com/stintdb/stint/server/config"
	"github.com/stintdb/stint/server/events"
	"github.com/stintdb/stint/server/netio"
)

// Admin is the HTTP server for operators.
type Admin struct {
	log      *slog.Logger
	token    *[tokenBytes]byte // the hash of the token, nil if there is none
	host     string            // the host in the address, which requests may name
	address  string
	secure   bool                          // with TLS
	about    atomic.Pointer[server.Server] // nil before Attach
	scraper  http.Handler
	fills    fills
	history  *history // the last five minutes
	minute   *history // the last minute
	traffic  *traffic.Traffic
	bites    bites
	counts   counts
	watched  atomic.Int64 // when the page last asked, in nanoseconds since the Unix epoch
	problems problems
	watch    watch

	replaying sync.Mutex // one replay at a time, because it uses a whole processor

	http  *http.Server
	ended chan struct{}

	recording sync.Once      // the first Attach begins recording
	recorder  sync.WaitGroup // the goroutine that records
	stop      chan struct{}  // closed by Close, once
	stopped   sync.Once

	backingUp sync.Mutex      // held while a backup is being sent
	ending    context.Context // canceled by Close
	end       context.CancelFunc

	wrongTokens unauthenticated.Refusals
}

// The limits of the HTTP server.
const (
	maxHeaderBytes  = 16 << 10
	slopBytes       = 4 << 10 // net/http adds this to its limit for headers
	maxBodyBytes    = 64 << 10
	maxFileBytes    = 1 << 20 // of a body with the policies of a file
	headerTimeout   = 5 * time.Second
	readTimeout     = 10 * time.Second
	writeTimeout    = 2 * time.Minute // long enough for a profile
	idleTimeout     = 5 * time.Second
	shutdownTimeout = time.Second
)

// Listen starts the HTTP server at the address in the settings. It returns nil, nil if there is no address, or if the
// address is the default and in use: nobody asked for it, and two servers on a machine must not get in each other's
// way. connections limits the connections that have not shown the token; a quarter as many that have are allowed in
// addition.
func Listen(cfg *config.Config, connections int, log *slog.Logger) (*Admin, error) {
	address := cfg.AdminAddress()
	if address == "" {
		if cfg.Admin != "" {
			log.Warn("the HTTP server for metrics, health checks and the dashboard did not start: another setting uses its default address; choose an address with --admin", "admin", cfg.Admin)
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
		log.Warn("the HTTP server for metrics, health checks and the dashboard did not start: its default address is in use; choose another with --admin", "admin", address)
		return nil, nil
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("cannot listen on %s: the address is in use, perhaps by another Stint; stop that one, or choose another address with --admin", address)
	case err != nil:
		return nil, fmt.Errorf("cannot listen on %s: %w; choose another address with --admin", address, err)
	}
	host, _, _ := net.SplitHostPort(address)
	a := &Admin{log: log, token: hashOf(cfg.AdminToken), host: host, address: listener.Addr().String(), history: newHistory(historySize), minute: newHistory(1), traffic: traffic.New(), ended: make(chan struct{}), stop: make(chan struct{})}
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
			log.Error("the HTTP server of --admin stopped", "error", err)
		}
	}()
	return a, nil
}

// withTLS uses the certificate of the attached server, or first before a server is attached. It asks for no client
// certificate, so that health checks and browsers need none: clients show the token instead.
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

// Address is the address at which the server listens, with the actual port.
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

// Close stops the HTTP server. Requests in progress have a second to complete; backups end at once.
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
	a.backingUp.Lock() // wait for a backup, because the store that it reads is closed next; later backups see ending
	defer a.backingUp.Unlock()
	<-a.ended
}
