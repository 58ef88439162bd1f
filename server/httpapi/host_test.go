package httpapi

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidwall/redcon"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/internal/testlog"
	"github.com/stintdb/stint/internal/testwait"
	"github.com/stintdb/stint/server"
	"github.com/stintdb/stint/server/clock/clocktest"
	"github.com/stintdb/stint/server/config"
	"github.com/stintdb/stint/server/decider"
	"github.com/stintdb/stint/server/gateway"
	"github.com/stintdb/stint/server/servertest"
)

// giveUp is how long a test waits for what must come. It is only reached when the test fails.
const giveUp = testwait.Limit

// host is a server with this service, whose clock only moves when told to.
type host struct {
	testing.TB
	*server.Server
	clock   *clocktest.Manual
	decider *refusing
	url     string
	stop    func() error
	log     testlog.Log
}

// refusing is a decider that, while its status is not OK, decides nothing and gives each operation that status.
type refusing struct {
	*decider.Local
	status atomic.Uint32
}

func (r *refusing) Decide(b *engine.Batch) bool {
	status := engine.Status(r.status.Load())
	if status == engine.OK {
		return r.Local.Decide(b)
	}
	for i := range b.Results {
		b.Results[i] = engine.Result{Status: status}
	}
	return true
}

// serve starts a server, until the end of the test.
func serve(t testing.TB, change ...func(*config.Config)) *host {
	t.Helper()
	return serveBy(t, new(Service), change...)
}

func serveBy(t testing.TB, service *Service, change ...func(*config.Config)) *host {
	t.Helper()
	cfg := config.Default()
	cfg.Listen, cfg.HTTPListen, cfg.Loops, cfg.Admin, cfg.IdleTimeout = []string{"127.0.0.1:0"}, []string{"127.0.0.1:0"}, 1, "", 0
	for _, f := range change {
		f(&cfg)
	}
	if err := cfg.Check(); err != nil {
		t.Fatal(err)
	}
	h := &host{TB: t, clock: clocktest.New(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))}
	keys := store.New(store.Config{Shards: 16, Commands: new(server.Commands).On(&cfg, nil)})
	h.decider = &refusing{Local: &decider.Local{Store: keys, Clock: h.clock.Clock}}
	h.Server = server.New(server.Options{Config: cfg, Decider: h.decider, Keys: keys, Clock: h.clock.Clock,
		Log: h.log.Logger(), Version: "0.0.0-test", Services: []gateway.Service{service}})
	t.Cleanup(keys.Close)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	addresses, stop := servertest.Serve(t, h.Server)
	h.stop, h.url = stop, "http://"+addresses[len(addresses)-1]
	if len(cfg.HTTPTLSListen) > 0 {
		h.url = strings.Replace(h.url, "http:", "https:", 1)
	}
	return h
}

// run executes commands as an operator.
func (h *host) run(commands ...string) (last redcon.RESP) {
	h.Helper()
	for _, c := range commands {
		replies, err := h.Do(context.Background(), "test", strings.Fields(c))
		if err != nil {
			h.Fatal(c, err)
		}
		last = replies[0]
	}
	return last
}

// answer is a response, read.
type answer struct {
	status int
	header http.Header
	body   string
}

// send sends a request; headers are lines. A request with a body is JSON, unless a header names another type.
func (h *host) send(method, path, body string, headers ...string) answer {
	h.Helper()
	r, err := http.NewRequest(method, h.url+path, strings.NewReader(body))
	if err != nil {
		h.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ": ")
		if name == "Host" {
			r.Host = value
		} else if name == "Content-Type" {
			r.Header.Set(name, value)
		} else {
			r.Header.Add(name, value)
		}
	}
	response, err := (&http.Client{Timeout: giveUp}).Do(r)
	if err != nil {
		h.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		h.Fatal(err)
	}
	return answer{response.StatusCode, response.Header, string(text)}
}

func (h *host) post(path, body string, headers ...string) answer {
	h.Helper()
	return h.send(http.MethodPost, path, body, headers...)
}

// read reads an answer in JSON.
func (h *host) read(a answer) (v any) {
	h.Helper()
	if err := json.Unmarshal([]byte(a.body), &v); err != nil {
		h.Fatalf("%v: %s", err, a.body)
	}
	return v
}

func sha256Of(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
