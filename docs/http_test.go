package docs

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/server"
	"github.com/stintdb/stint/server/clock/clocktest"
	"github.com/stintdb/stint/server/config"
	"github.com/stintdb/stint/server/decider"
	"github.com/stintdb/stint/server/gateway"
	"github.com/stintdb/stint/server/httpapi"
)

// startHTTP starts a server whose clock stands still, until the end of the test, and returns its URL.
func startHTTP(t *testing.T) (url string) {
	cfg := config.Default()
	cfg.Listen, cfg.HTTPListen, cfg.Admin, cfg.Loops, cfg.IdleTimeout = []string{"127.0.0.1:0"}, []string{"127.0.0.1:0"}, "", 1, 0
	clock := clocktest.New(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	keys := store.New(store.Config{Commands: new(server.Commands).On(&cfg, nil)})
	s := server.New(server.Options{Config: cfg, Decider: &decider.Local{Store: keys, Clock: clock.Clock}, Keys: keys, Clock: clock.Clock,
		Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Services: []gateway.Service{new(httpapi.Service)}})
	ctx, cancel := context.WithCancel(context.Background())
	ready, ended := make(chan string, 1), make(chan error, 1)
	go func() { ended <- s.Serve(ctx, func(addresses []string) { ready <- addresses[1] }) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		keys.Close()
	})
	address, _, _ := strings.Cut(<-ready, " ")
	return "http://" + address
}

// TestHTTPExamples sends the requests of the page about HTTP and compares the responses: the status, the fields shown
// and the body.
func TestHTTPExamples(t *testing.T) {
	p, url, requests := readPage(t, "docs/http.md"), startHTTP(t), 0
	for _, b := range p.blocks() {
		if b.language != "http" {
			continue
		}
		for i := 0; i < len(b.lines); {
			var sent, want []string
			at := b.line + i
			for ; i < len(b.lines) && strings.HasPrefix(b.lines[i], "> "); i++ {
				sent = append(sent, b.lines[i][2:])
			}
			for ; i < len(b.lines) && strings.HasPrefix(b.lines[i], "< "); i++ {
				want = append(want, b.lines[i][2:])
			}
			if len(sent) == 0 || len(want) == 0 {
				t.Fatalf("%s:%d: no request and response", p.path, at)
			}
			requests++
			status, fields, body := sendExample(t, url, sent)
			for _, line := range want {
				name, value, isField := strings.Cut(line, ": ")
				switch {
				case line[0] == '{' || line[0] == '[':
					if line != body {
						t.Errorf("%s:%d: the body is %s", p.path, at, body)
					}
				case isField:
					if got := fields.Get(name); got != value {
						t.Errorf("%s:%d: %s: %s", p.path, at, name, got)
					}
				case line != status:
					t.Errorf("%s:%d: the status is %s", p.path, at, status)
				}
			}
		}
	}
	if requests < 9 {
		t.Errorf("only %d requests", requests)
	}
}

// sendExample sends a request: a line with method and path, and lines of the header and the body, which is JSON.
func sendExample(t *testing.T, url string, lines []string) (status string, header http.Header, body string) {
	method, path, _ := strings.Cut(lines[0], " ")
	r, err := http.NewRequest(method, url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range lines[1:] {
		if name, value, isField := strings.Cut(line, ": "); isField && line[0] != '{' && line[0] != '[' {
			r.Header.Set(name, value)
			continue
		}
		r.Header.Set("Content-Type", "application/json")
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader(line)), int64(len(line))
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.Status[:3], response.Header, strings.TrimSpace(string(text))
}
