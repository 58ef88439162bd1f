package admin

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/internal/testwait"
	"github.com/stintdb/stint/server"
	"github.com/stintdb/stint/server/clock"
	"github.com/stintdb/stint/server/config"
	"github.com/stintdb/stint/server/decider"
	"github.com/stintdb/stint/server/servertest"
	"github.com/stintdb/stint/server/warn"
)

// giveUp is how long a test waits for an event that must come. It is only reached if the test fails.
const giveUp = testwait.Limit

// maxConnections is how many connections without the token a host accepts.
const maxConnections = 256

// host is a server with its HTTP server for operators.
type host struct {
	*testing.T
	*Admin
	server *server.Server
	addr   string // set once the server serves
	stop   func() error
}

// newHost starts the HTTP server for a server that does not serve yet.
func newHost(t *testing.T, change func(*config.Config, *server.Options)) *host {
	cfg := config.Default()
	cfg.Listen, cfg.Admin, cfg.Loops = []string{"127.0.0.1:0"}, "127.0.0.1:0", 2
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	warnings := warn.New(warn.Options{Publish: func(_, _ []byte) int { return 0 }, Webhook: "http://127.0.0.1:1/", Log: log}) // nobody listens
	keys := store.New(store.Config{Shards: 16, Warned: warnings.Note})
	t.Cleanup(keys.Close)
	o := server.Options{Keys: keys, Clock: clock.New(0), Log: log, Version: "0.0.0-test", Warnings: warnings}
	if change != nil {
		change(&cfg, &o)
	}
	if o.Decider == nil {
		o.Decider = &decider.Local{Store: keys, Clock: o.Clock}
	}
	if err := cfg.Check(); err != nil {
		t.Fatal(err)
	}
	o.Config = cfg
	a, err := Listen(&cfg, maxConnections, o.Log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	return &host{T: t, Admin: a, server: server.New(o)}
}

// serve runs the server until the end of the test. It returns the addresses in use: first the one for Redis clients,
// last the ones of services.
func (h *host) serve() (addresses []string) {
	h.Attach(h.server)
	addresses, h.stop = servertest.Serve(h.T, h.server)
	h.addr = addresses[0]
	return addresses
}

// get requests a path. headers alternates names and values.
func (h *host) get(path string, headers ...string) (status int, body string) {
	h.Helper()
	return h.send(http.MethodGet, path, "", headers...)
}

func (h *host) send(method, path, body string, headers ...string) (int, string) {
	h.Helper()
	r, err := http.NewRequest(method, "http://"+h.Address()+path, strings.NewReader(body))
	if err != nil {
		h.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		if r.Header.Set(headers[i], headers[i+1]); headers[i] == "Host" {
			r.Host = headers[i+1]
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
	return response.StatusCode, string(text)
}

// scrape returns the sum of each metric over its series.
func (h *host) scrape() map[string]float64 {
	h.Helper()
	sums := map[string]float64{}
	for name, family := range h.families() {
		for _, m := range family.Metric {
			sums[name] += m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	return sums
}

// series returns all series of each metric, as text.
func (h *host) series() map[string]string {
	h.Helper()
	texts := map[string]string{}
	for name, family := range h.families() {
		texts[name] = family.String()
	}
	return texts
}

func (h *host) families() map[string]*dto.MetricFamily {
	h.Helper()
	status, body := h.get("/metrics")
	if status != http.StatusOK {
		h.Fatalf("%d: %s", status, body)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(body))
	if err != nil {
		h.Fatal(err)
	}
	return families
}

// dial connects a client.
func (h *host) dial() net.Conn {
	h.Helper()
	conn, err := net.Dial("tcp", h.addr)
	if err != nil {
		h.Fatal(err)
	}
	h.Cleanup(func() { conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(giveUp))
	return conn
}

// do executes commands on a connection, and returns their replies.
func (h *host) do(conn net.Conn, commands ...string) string {
	h.Helper()
	_ = conn.SetDeadline(time.Now().Add(giveUp))
	if _, err := conn.Write(frames(append(commands, "ECHO the-end")...)); err != nil {
		h.Fatal(err)
	}
	var all bytes.Buffer
	for in := bufio.NewReader(conn); ; {
		line, err := in.ReadString('\n')
		if err != nil {
			h.Fatalf("%.100s: %v", commands, err)
		}
		if strings.HasPrefix(line, "the-end") {
			return all.String()
		}
		all.WriteString(line)
	}
}

func frames(commands ...string) (b []byte) {
	for _, c := range commands {
		words := strings.Fields(c)
		b = fmt.Appendf(b, "*%d\r\n", len(words))
		for _, w := range words {
			b = fmt.Appendf(b, "$%d\r\n%s\r\n", len(w), w)
		}
	}
	return b
}

// eventually waits for a condition that must come true.
func (h *host) eventually(what string, condition func() bool) {
	h.Helper()
	testwait.Until(h, what, condition)
}
