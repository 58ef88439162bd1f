package xds

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	config "github.com/envoyproxy/go-control-plane/ratelimit/config/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/stintdb/stint/internal/testserver"
	"github.com/stintdb/stint/internal/testtls"
	"github.com/stintdb/stint/internal/testwait"
	"github.com/stintdb/stint/internal/testxds"
)

// parse reads a resource as JSON.
func parse(t testing.TB, text string) *config.RateLimitConfig {
	t.Helper()
	c := new(config.RateLimitConfig)
	if err := protojson.Unmarshal([]byte(text), c); err != nil {
		t.Fatal(err)
	}
	return c
}

// domain is a resource with one rule.
func domain(t testing.TB, name string) *config.RateLimitConfig {
	return parse(t, `{"name": "`+name+`", "domain": "`+name+`", "descriptors": [{"key": "k", "rate_limit": {"unit": "DAY", "requests_per_unit": 5}}]}`)
}

// log keeps the log of a client.
type log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *log) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *log) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), text)
}

// run runs a client until the test ends, or stop is called.
func run(t testing.TB, o Options, to io.Writer) (c *Client, stop func()) {
	t.Helper()
	o.Log, o.Node = slog.New(slog.NewTextHandler(to, nil)), "test"
	o.FirstRetry, o.LastRetry = time.Millisecond, 10*time.Millisecond
	c, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		c.Run(ctx)
	}()
	stop = func() {
		cancel()
		<-ended
	}
	t.Cleanup(stop)
	return c, stop
}

func (c *Client) awaitDomains(t testing.TB, want int) {
	t.Helper()
	testwait.Until(t, "the rules are in use", func() bool {
		n, _ := c.Rules().Counts()
		return n == want
	})
}

// Pushed rules are used at once; no rules are also a valid set.
func TestPushes(t *testing.T) {
	control := testxds.Start(t, "127.0.0.1:0")
	c, _ := run(t, Options{Address: control.Address}, io.Discard)
	testwait.Until(t, "it asks", func() bool { return len(control.Requests()) > 0 })
	first := control.Requests()[0]
	if first.GetNode().GetId() != "test" || first.GetTypeUrl() != testxds.TypeURL || first.GetVersionInfo() != "" || len(first.GetResourceNames()) != 0 {
		t.Error(first)
	}
	if c.Has() || c.Age(time.Now()) != 0 {
		t.Error("it has rules before the first push")
	}
	for i, all := range [][]*config.RateLimitConfig{{domain(t, "a")}, {domain(t, "a"), domain(t, "b")}, {}} {
		answer := control.Answer(control.Push(all...))
		if answer.GetErrorDetail() != nil || answer.GetVersionInfo() == "" {
			t.Error(answer)
		}
		if n, _ := c.Rules().Counts(); n != len(all) || !c.Has() || c.Accepted.Load() != int64(i+1) || c.Age(time.Now()) > time.Hour {
			t.Errorf("%d domains, want %d", n, len(all))
		}
	}
}

// A refused push changes nothing, and the control plane gets the reason.
func TestRefusedPushes(t *testing.T) {
	control := testxds.Start(t, "127.0.0.1:0")
	var said log
	c, _ := run(t, Options{Address: control.Address}, &said)
	good := control.Answer(control.Push(domain(t, "a"))).GetVersionInfo()
	packed := func(r *config.RateLimitConfig) *anypb.Any {
		a, err := anypb.New(r)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	nested := func(levels int) string {
		text := ""
		for range levels {
			text = `{"key": "k", "descriptors": [` + text + `]}`
		}
		return `{"name": "x", "domain": "x", "descriptors": [` + text + `]}`
	}
	unknown := packed(domain(t, "x"))
	unknown.Value = protowire.AppendVarint(protowire.AppendTag(unknown.Value, 99, protowire.VarintType), 1)
	limit := func(text string) *anypb.Any {
		return packed(parse(t, `{"name": "n", "domain": "x", "descriptors": [{"key": "k", "value": "v", "rate_limit": `+text+`}]}`))
	}
	for says, resources := range map[string][]*anypb.Any{
		`"n": the domain is empty`:                                                   {packed(parse(t, `{"name": "n"}`))},
		`"b": the domain "x" is in "a" already`:                                      {packed(parse(t, `{"name": "a", "domain": "x"}`)), packed(parse(t, `{"name": "b", "domain": "x"}`))},
		`"x": below "x": a descriptor needs a key`:                                   {packed(parse(t, `{"name": "x", "domain": "x", "descriptors": [{}]}`))},
		`"x": the descriptor "x.k_v" is there twice`:                                 {packed(parse(t, `{"name": "x", "domain": "x", "descriptors": [{"key": "k", "value": "v"}, {"key": "k", "value": "v"}]}`))},
		`"x": descriptors are nested more than 64 deep`:                              {packed(parse(t, nested(65)))},
		`"n": the descriptor "x.k_v": unit must be one of SECOND, MINUTE`:            {limit(`{"requests_per_unit": 5}`)},
		`"n": the descriptor "x.k_v": unit has no effect together with unlimited`:    {limit(`{"unlimited": true, "unit": "DAY"}`)},
		`"n": the descriptor "x.k_v": replaces needs the name`:                       {limit(`{"unlimited": true, "replaces": [{}]}`)},
		`"n": the descriptor "x.k_v": the limit "l" replaces itself`:                 {limit(`{"unlimited": true, "name": "l", "replaces": [{"name": "l"}]}`)},
		`resource 1: ratelimit.config.ratelimit.v3.RateLimitConfig has the field 99`: {packed(domain(t, "a")), unknown},
		`cannot parse`:            {{TypeUrl: testxds.TypeURL, Value: []byte{0xff}}},
		`mismatched message type`: {{TypeUrl: "type.googleapis.com/google.protobuf.Duration"}},
	} {
		before := c.Refused.Load()
		answer := control.Answer(control.PushAny(testxds.TypeURL, resources...))
		why := answer.GetErrorDetail()
		if why.GetCode() != int32(codes.InvalidArgument) || !strings.Contains(why.GetMessage(), says) || answer.GetVersionInfo() != good {
			t.Errorf("%v, want %s", answer, says)
		}
		if n, _ := c.Rules().Counts(); n != 1 || c.Refused.Load() != before+1 || said.count("are wrong") != int(before+1) {
			t.Errorf("%s: %d domains, refused %d times", says, n, c.Refused.Load())
		}
	}
	if why := control.Answer(control.PushAny("type.googleapis.com/other")).GetErrorDetail().GetMessage(); !strings.Contains(why, `the type is "type.googleapis.com/other"`) {
		t.Error(why)
	}
	if answer := control.Answer(control.Push(domain(t, "a"), parse(t, nested(64)))); answer.GetErrorDetail() != nil {
		t.Error(answer)
	}
}

// A control plane that repeats a refused push is answered more and more slowly, and the log has it once.
func TestRepeatedRefusal(t *testing.T) {
	control := testxds.Start(t, "127.0.0.1:0")
	control.Repeat = true
	var said log
	c, _ := run(t, Options{Address: control.Address}, &said)
	control.Push(parse(t, `{"name": "n"}`))
	testwait.Until(t, "it is refused again", func() bool { return c.Refused.Load() > 5 })
	if n := said.count("are wrong"); n != 1 {
		t.Errorf("logged %d times", n)
	}
	control.Push(domain(t, "a"))
	c.awaitDomains(t, 1)
}

// While the answer to a repeated push is delayed, other rules are used as soon as they come.
func TestPushDuringTheWaitOfARefusal(t *testing.T) {
	control := testxds.Start(t, "127.0.0.1:0")
	control.Repeat = true
	c, err := Open(Options{Address: control.Address, Node: "test", FirstRetry: time.Hour, LastRetry: time.Hour, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	var ended sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	ended.Go(func() { c.Run(ctx) })
	defer ended.Wait()
	defer cancel()
	control.Push(parse(t, `{"name": "n"}`))
	testwait.Until(t, "it is refused again", func() bool { return c.Refused.Load() == 2 })
	if answer := control.Answer(control.Push(domain(t, "a"))); answer.GetErrorDetail() != nil {
		t.Error(answer)
	}
	c.awaitDomains(t, 1)
}

// A push may have 16 MiB. A longer one ends the connection, with the reason in the log, and the rules stay.
func TestPushesAreBounded(t *testing.T) {
	control := testxds.Start(t, "127.0.0.1:0")
	var said log
	c, _ := run(t, Options{Address: control.Address}, &said)
	const most = 16 << 20
	long := domain(t, "a")
	long.Descriptors[0].Key = strings.Repeat("k", most-1000) // the push has more than the key
	if answer := control.Answer(control.Push(long)); answer.GetErrorDetail() != nil {
		t.Error(answer)
	}
	long.Descriptors[0].Key += strings.Repeat("k", 1000)
	control.Push(long, domain(t, "b"))
	testwait.Until(t, "it says that the push is too long", func() bool { return said.count("received message larger than max") > 0 })
	if n, _ := c.Rules().Counts(); n != 1 || c.Accepted.Load() != 1 {
		t.Errorf("%d domains after %d pushes", n, c.Accepted.Load())
	}
	control.Push(domain(t, "a"), domain(t, "b"))
	c.awaitDomains(t, 2)
}

// The wait grows to its maximum, and differs between clients.
func TestPause(t *testing.T) {
	p := pause{time.Second, 30 * time.Second, 0}
	for i := range 100 {
		full := min(30*time.Second, time.Second<<min(i, 10))
		if d := p.next(); d < full/2 || d > full {
			t.Errorf("attempt %d waits %v, want between %v and %v", i, d, full/2, full)
		}
	}
}

// Rules outlive the control plane, a restart without it, and a file that is damaged.
func TestKeptRules(t *testing.T) {
	control, dir := testxds.Start(t, testserver.ReserveAddress(t)), t.TempDir() // where another one listens later
	o := Options{Address: control.Address, Dir: dir}
	c, stop := run(t, o, io.Discard)
	control.Answer(control.Push(domain(t, "a"), domain(t, "b")))
	control.Answer(control.Push(parse(t, `{"name": "n"}`)))
	control.Stop()
	testwait.Until(t, "the connection is gone", func() bool { return !c.Connected.Load() })
	c.awaitDomains(t, 2)
	stop()

	var said log
	c, stop = run(t, o, &said)
	if n, rules := c.Rules().Counts(); n != 2 || rules != 2 || !c.Has() || c.Age(time.Now()) <= 0 {
		t.Errorf("%d domains, %d rules", n, rules)
	}
	testwait.Until(t, "it says that there is no connection", func() bool { return said.count("cannot connect to the control plane") > 2 })
	again := testxds.Start(t, control.Address)
	again.Answer(again.Push(domain(t, "c")))
	c.awaitDomains(t, 1)
	if first := again.Requests()[0]; first.GetVersionInfo() != "" {
		t.Error(first) // the new control plane may count from the beginning
	}
	stop()

	file := filepath.Join(dir, keptFile)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for i := range text {
		damaged := bytes.Clone(text)
		damaged[i] ^= 1
		if err := os.WriteFile(file, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		if push, _, err := readKept(file); err == nil {
			t.Fatalf("byte %d is damaged: %v", i, push)
		}
	}
	if c, err := Open(o.with(t, &said)); err != nil || c.Has() || said.count("cannot be used") != 1 {
		t.Error(err)
	}
}

func (o Options) with(_ testing.TB, to io.Writer) Options {
	o.Log = slog.New(slog.NewTextHandler(to, nil))
	return o
}

// With TLS, both sides show certificates, which are read again for each connection.
func TestTLS(t *testing.T) {
	own, other := testtls.New(t), testtls.New(t)
	cert, err := tls.LoadX509KeyPair(own.Cert, own.Key)
	if err != nil {
		t.Fatal(err)
	}
	control := testxds.Start(t, "127.0.0.1:0", grpc.Creds(credentials.NewTLS(&tls.Config{Certificates: []tls.Certificate{cert}, ClientCAs: own.Pool, ClientAuth: tls.RequireAndVerifyClientCert})))
	control.Push(domain(t, "a"))
	for name, files := range map[string]*Files{
		"no TLS": nil, "no certificate": {CA: own.CA}, "a strange certificate": {CA: own.CA, Cert: other.Cert, Key: other.Key}, "a strange control plane": {CA: other.CA, Cert: own.Cert, Key: own.Key},
		"another name": {CA: own.CA, Cert: own.Cert, Key: own.Key, Name: "other.example.com"}, "the CAs of the system": {Cert: own.Cert, Key: own.Key},
	} {
		var said log
		c, stop := run(t, Options{Address: control.Address, TLS: files}, &said)
		testwait.Until(t, "it says why there is no connection: "+name, func() bool { return said.count("cannot connect to the control plane") > 1 })
		stop()
		if c.Has() {
			t.Error(name)
		}
	}
	files := &Files{CA: filepath.Join(t.TempDir(), "ca.pem"), Cert: own.Cert, Key: own.Key}
	if _, err := Open(Options{Address: control.Address, TLS: files}); err == nil || !strings.Contains(err.Error(), "rls-xds-tls-ca") {
		t.Error(err)
	}
	copyFile(t, other.CA, files.CA)
	c, _ := run(t, Options{Address: control.Address, TLS: files}, io.Discard)
	copyFile(t, own.CA, files.CA)
	c.awaitDomains(t, 1)
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}
