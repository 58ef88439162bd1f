package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	stint "github.com/stintdb/stint/clients/go"
	"github.com/stintdb/stint/clients/go/internal/servertest"
)

func TestMain(m *testing.M) {
	code := m.Run()
	servertest.Clean()
	os.Exit(code)
}

// budget is the number of tokens of a tenant. They do not come back during the test.
const budget = 10_000

// model answers in events. It waits before the last, which reports 700 tokens.
type model struct {
	t     *testing.T
	asked int
	goOn  chan bool
}

func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var call chat
	if err := json.NewDecoder(r.Body).Decode(&call); err != nil || !call.Options.IncludeUsage {
		m.t.Errorf("the model got %+v, %v", call, err)
	}
	m.asked++
	switch call.Model {
	case "broken":
		http.Error(w, "out of memory", http.StatusInternalServerError)
		return
	case "silent":
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprint(w, "data: {\"choices\":[{\"delta\":{\"content\":\"usage\"}}],\"usage\":null}\n\n")
	w.(http.Flusher).Flush()
	select {
	case <-m.goOn:
	case <-r.Context().Done():
		return
	}
	if call.Model == "breaks off" {
		panic(http.ErrAbortHandler)
	}
	fmt.Fprint(w, "data: {\"choices\":[],\"usage\":{\"total_tokens\":700}}\n\ndata: [DONE]\n\n")
}

// proxied is a gateway in front of a model.
type proxied struct {
	*model
	url     string
	limiter *stint.Limiter
	rdb     *redis.Client
}

func start(t *testing.T) *proxied {
	server, err := servertest.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Kill)
	rdb := redis.NewClient(&redis.Options{Addr: server.Address})
	t.Cleanup(func() { rdb.Close() })
	if err := rdb.Do(t.Context(), "RL.POLICY", "SET", "llm", "FW", "requests:{tenant}:{}", 100, "1h", "COST", 1,
		"FW", "tokens:{tenant}", budget, "1h", "TB", "model:{model}", 1_000_000, "1000000/m", "CC", "calls:{tenant}", 3, "10m", "{call}").Err(); err != nil {
		t.Fatal(err)
	}
	limiter := stint.Connect([]string{server.Address}, stint.FailClosed(), stint.Timeout(30*time.Second))
	t.Cleanup(func() { limiter.Close() })
	m := &model{t: t, goOn: make(chan bool, 100)}
	upstream := httptest.NewServer(m)
	t.Cleanup(upstream.Close)
	site := httptest.NewServer(newGateway(limiter, upstream.URL))
	t.Cleanup(site.Close)
	return &proxied{m, site.URL, limiter, rdb}
}

const messages = `[{"role":"user","content":"How many tokens is this?"}]`

func (p *proxied) ask(ctx context.Context, key, model string, maxTokens int) *http.Response {
	p.t.Helper()
	body := fmt.Sprintf(`{"model":%q,"messages":%s,"max_tokens":%d,"stream":true}`, model, messages, maxTokens)
	r, _ := http.NewRequestWithContext(ctx, "POST", p.url+"/v1/chat/completions", strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+key)
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		p.t.Fatal(err)
	}
	return response
}

// used is the part of acme's budget that is taken, and the number of its calls in progress.
func (p *proxied) used() (tokens, calls int64) {
	p.t.Helper()
	result, err := p.limiter.Peek(p.t.Context(), "tokens:acme", stint.Window(budget, stint.Starting(time.Hour)), 1)
	if err != nil {
		p.t.Fatal(err)
	}
	holders, err := p.rdb.Do(p.t.Context(), "CC.HOLDERS", "calls:acme").Slice()
	if err != nil {
		p.t.Fatal(err)
	}
	tokens = budget - result.Remaining
	if result.Allowed {
		tokens-- // the one that Peek would take
	}
	return tokens, int64(len(holders) / 2)
}

func (p *proxied) expect(what string, tokens, calls int64) {
	p.t.Helper()
	if gotTokens, gotCalls := p.used(); gotTokens != tokens || gotCalls != calls {
		p.t.Errorf("%s: %d tokens are taken by %d calls, want %d and %d", what, gotTokens, gotCalls, tokens, calls)
	}
}

func read(t *testing.T, response *http.Response) string {
	t.Helper()
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Error(err)
	}
	return string(body)
}

// TestGateway: the most is reserved while an answer comes; then its usage counts.
func TestGateway(t *testing.T) {
	p := start(t)
	const most = 5000 + int64(len(messages))
	response := p.ask(t.Context(), "key-of-ann", "large", 5000)
	answer := bufio.NewReader(response.Body)
	if line, err := answer.ReadString('\n'); err != nil || !strings.Contains(line, "usage") { // the model waits: it is streamed
		t.Fatalf("%q, %v", line, err)
	}
	p.expect("in progress", most, 1)
	denied := p.ask(t.Context(), "key-of-bob", "large", 5000)
	if text := read(t, denied); denied.StatusCode != 429 || denied.Header.Get("Retry-After") == "" || !strings.HasPrefix(text, "limit 1 ") || p.asked != 1 {
		t.Errorf("a tenant-mate beyond the budget: %s, %v, %q; the model was asked %d times", denied.Status, denied.Header, text, p.asked)
	}
	p.goOn <- true
	rest, err := io.ReadAll(answer)
	response.Body.Close()
	if !strings.HasSuffix(string(rest), "data: [DONE]\n\n") || err != nil || response.Header.Get("Content-Type") != "text/event-stream" {
		t.Errorf("answered %q, %v, %v", rest, err, response.Header)
	}
	p.expect("settled", 700, 0)
	p.goOn <- true
	if text := read(t, p.ask(t.Context(), "key-of-bob", "large", 5000)); !strings.Contains(text, "700") {
		t.Errorf("the tenant-mate, later: %q", text)
	}
	p.expect("both settled", 1400, 0)
}

// TestModelFails: before it answers, nothing is charged; in its answer, the most.
func TestModelFails(t *testing.T) {
	p := start(t)
	for model, status := range map[string]int{"broken": 500, "silent": 502} {
		response := p.ask(t.Context(), "key-of-ann", model, 1000)
		if read(t, response); response.StatusCode != status {
			t.Errorf("%s: %s", model, response.Status)
		}
		p.expect(model, 0, 0)
	}
	const most = 1000 + int64(len(messages))
	p.goOn <- true
	brokenOff := p.ask(t.Context(), "key-of-ann", "breaks off", 1000)
	if text, err := io.ReadAll(brokenOff.Body); err == nil {
		t.Errorf("a part of an answer looks whole: %q", text)
	}
	p.expect("breaks off", most, 0)
	ctx, leave := context.WithCancel(t.Context())
	p.ask(ctx, "key-of-ann", "large", 1000)
	leave()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		if tokens, calls := p.used(); tokens == 2*most && calls == 0 {
			break
		}
		if time.Now().After(deadline) {
			p.expect("the caller has left", 2*most, 0)
			break
		}
	}
}

// TestRefused: such calls are not sent to the model.
func TestRefused(t *testing.T) {
	p := start(t)
	for name, c := range map[string]struct {
		key       string
		model     string
		maxTokens int
		status    int
	}{
		"without a key":         {"", "large", 1, 401},
		"without a bound":       {"key-of-ann", "large", 0, 400},
		"more than can be":      {"key-of-ann", "large", 20_000, 429},
		"a number out of range": {"key-of-ann", "large", 2_000_000_000_000, 400},
		"without a model":       {"key-of-ann", "", 1, 400},
	} {
		response := p.ask(t.Context(), c.key, c.model, c.maxTokens)
		if read(t, response); response.StatusCode != c.status || response.Header.Get("Retry-After") != "" {
			t.Errorf("%s: %s, %v", name, response.Status, response.Header)
		}
	}
	down := stint.Connect([]string{"127.0.0.1:1"}, stint.FailClosed())
	defer down.Close()
	site := httptest.NewServer(newGateway(down, "http://127.0.0.1:1"))
	defer site.Close()
	without := &proxied{p.model, site.URL, down, p.rdb}
	if response := without.ask(t.Context(), "key-of-ann", "large", 1); response.StatusCode != 503 {
		t.Errorf("without Stint: %s", response.Status)
	}
	p.limiter.Close()
	if response := p.ask(t.Context(), "key-of-ann", "large", 1); response.StatusCode != 500 {
		t.Errorf("with a limiter that is closed: %s", response.Status)
	}
	if p.asked != 0 {
		t.Errorf("the model was asked %d times", p.asked)
	}
}
