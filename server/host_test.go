package server

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/internal/testwait"
	"github.com/stintdb/stint/server/clock/clocktest"
	"github.com/stintdb/stint/server/command/data"
	"github.com/stintdb/stint/server/config"
	"github.com/stintdb/stint/server/decider"
	"github.com/stintdb/stint/server/keyevents"
	"github.com/stintdb/stint/server/pubsub"
	"github.com/stintdb/stint/server/warn"
)

// testStart is the time at which every test's clock stands.
var testStart = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// testHost is a server whose clock only moves when told to.
type testHost struct {
	*Server
	clock *clocktest.Manual
	store *store.Store
	addr  string // once it listens
	tls   string // where it does by TLS
}

// newHost makes a server that listens to nothing. A nil decider means the local one.
func newHost(t testing.TB, replace func(*decider.Local) decider.Decider, set ...func(*config.Config)) *testHost {
	cfg := config.Default()
	cfg.Listen, cfg.Loops, cfg.IdleTimeout = []string{"127.0.0.1:0"}, 2, 0
	for _, f := range set {
		f(&cfg)
	}
	if err := cfg.Check(); err != nil {
		t.Fatal(err)
	}
	channels, changes := new(pubsub.Channels), new(keyevents.Hub)
	commands := new(Commands)
	executor := commands.On(&cfg, nil).(*data.Executor)
	executor.ScriptTime = 0
	h := &testHost{clock: clocktest.New(testStart), store: store.New(store.Config{
		Shards: 16, MaxBytes: cfg.MaxMemoryBytes, Commands: executor, Publish: channels.Publish, Changed: changes.Changed, Warned: warn.New(warn.Options{Publish: channels.Publish}).Note,
	})}
	changes.Attach(h.store.Observe)
	local := &decider.Local{Store: h.store, Clock: h.clock.Clock}
	o := Options{
		Config: cfg, Decider: local, Keys: h.store, Channels: channels, KeyEvents: changes, Commands: commands, Clock: h.clock.Clock, Version: "0.0.0-test", Commit: "0123456789ab",
		Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}
	if replace != nil {
		o.Decider = replace(local)
	}
	h.Server = New(o)
	t.Cleanup(h.env.WaitQueue.Stop)
	return h
}

// serve makes a server that listens on a free port of the loopback, until the end of the test.
func serve(t testing.TB, set ...func(*config.Config)) *testHost {
	h, stop := serveUntil(t, set...)
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Errorf("shutting down: %v", err)
		}
	})
	return h
}

// serveUntil is serve with the shutdown left to the caller.
func serveUntil(t testing.TB, set ...func(*config.Config)) (h *testHost, stop func() error) {
	h = newHost(t, nil, set...)
	return h, h.start(t)
}

// start has a server listen. stop shuts it down.
func (h *testHost) start(t testing.TB) (stop func() error) {
	ctx, cancel := context.WithCancel(context.Background())
	ready, ended := make(chan []string, 1), make(chan error, 1)
	go func() { ended <- h.Serve(ctx, func(addresses []string) { ready <- addresses }) }()
	select {
	case all := <-ready:
		h.addr, h.tls = all[0], strings.TrimSuffix(all[len(all)-1], " (TLS)")
	case err := <-ended:
		t.Fatal(err)
	}
	return func() error {
		cancel()
		return <-ended
	}
}

// giveUp is how long a test waits for what must come. It is only reached when the test fails.
const giveUp = testwait.Limit

// eventually waits for a condition that must come true.
func eventually(t testing.TB, what string, condition func() bool) {
	t.Helper()
	testwait.Until(t, what, condition)
}

// dial connects; reads and writes fail the test's way rather than hang.
func (h *testHost) dial(t testing.TB) *net.TCPConn {
	conn, err := net.Dial("tcp", h.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(giveUp)); err != nil {
		t.Fatal(err)
	}
	return conn.(*net.TCPConn)
}

// frame encodes a command as clients send it.
func frame(words ...string) []byte {
	b := []byte("*" + strconv.Itoa(len(words)) + "\r\n")
	for _, w := range words {
		b = append(b, "$"+strconv.Itoa(len(w))+"\r\n"+w+"\r\n"...)
	}
	return b
}

func words(command [][]byte) []string {
	out := make([]string, len(command))
	for i, w := range command {
		out[i] = string(w)
	}
	return out
}

// frames encodes several commands given as words separated by spaces.
func frames(commands ...string) (b []byte) {
	for _, c := range commands {
		b = append(b, frame(words(bytes.Fields([]byte(c)))...)...)
	}
	return b
}
