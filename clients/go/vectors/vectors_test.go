// Package vectors_test plays the vectors that the clients in all languages share.
package vectors_test

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	stint "github.com/stintdb/stint/clients/go"
	"github.com/stintdb/stint/clients/go/httplimit"
	"github.com/stintdb/stint/clients/go/internal/servertest"
)

// files have the vectors: those of all limits, those of fair shares, trees of classes and adaptive limits, the usage of
// policies, and balances.
var files = []string{"../../vectors/vectors.json", "../../vectors/shared.json", "../../vectors/usage.json", "../../vectors/balance.json"}

var update = flag.Bool("update", false, "write the expected commands, results and responses into the files")

// A vector is one call, the reply of the server, and the expected command and outcome.
type vector struct {
	Name     string            `json:"name"`
	Call     string            `json:"call"`
	WhenDown string            `json:"when_down"`
	Key      string            `json:"key,omitempty"` // bytes that are not UTF-8: hex: and their digits
	Limit    *limit            `json:"limit,omitempty"`
	Limits   []keyed           `json:"limits,omitempty"`
	Policy   string            `json:"policy,omitempty"`
	Tokens   int64             `json:"tokens,omitempty"`
	Costs    []*int64          `json:"costs,omitempty"` // null leaves the charge as it is
	Keep     string            `json:"keep,omitempty"`
	MaxWait  int64             `json:"max_wait_ms,omitempty"`
	Fields   map[string]string `json:"fields,omitempty"`
	ShowWarn bool              `json:"show_warn,omitempty"`
	Split    bool              `json:"split,omitempty"`
	Number   int64             `json:"number,omitempty"` // of an extension
	Expires  int64             `json:"expires_s,omitempty"`
	ID       string            `json:"id,omitempty"`
	Remember int64             `json:"remember_ms,omitempty"`
	Class    *class            `json:"class,omitempty"`
	Report   *report           `json:"report,omitempty"`
	Reply    string            `json:"reply"` // as it is sent, without the final line end

	Command  []string       `json:"command"`
	Error    string         `json:"error"` // the kind that the call returns
	Result   map[string]any `json:"result"`
	Response map[string]any `json:"response,omitempty"` // of a middleware named api
}

type limit struct {
	Algorithm string `json:"algorithm"`
	Tokens    int64  `json:"tokens"`
	Count     int64  `json:"count,omitempty"`
	Period    int64  `json:"period_ms,omitempty"`
	Window    string `json:"window,omitempty"`
	Least     int64  `json:"least,omitempty"`
	Member    string `json:"member,omitempty"` // also the holder of a place
	Weight    *int64 `json:"weight,omitempty"`
	History   int    `json:"history,omitempty"`
	Zone      string `json:"zone,omitempty"`
	From      string `json:"from,omitempty"`
	Segments  int    `json:"segments,omitempty"`
	Rollover  int    `json:"rollover_percent,omitempty"`
	Spread    bool   `json:"spread,omitempty"`
	Warn      int    `json:"warn_percent,omitempty"`

	Ban        int64 `json:"ban_ms,omitempty"`
	LongestBan int64 `json:"longest_ban_ms,omitempty"`
}

func (l limit) stint() stint.Limit {
	if l.Spread {
		return l.unwarned().Warn(l.Warn).Spread()
	}
	return l.unwarned().Warn(l.Warn)
}

func (l limit) unwarned() stint.Limit {
	period := time.Duration(l.Period) * time.Millisecond
	switch l.Algorithm {
	case "TB":
		return stint.Per(l.Count, period).Burst(l.Tokens)
	case "LQ":
		return stint.Per(l.Count, period).Queue(l.Tokens)
	case "FS":
		return stint.Per(l.Count, period).Burst(l.Tokens).Member(raw(l.Member), *l.Weight)
	case "AD":
		return stint.Per(l.Count, period).Burst(l.Tokens).Adaptive(l.Least)
	case "CL":
		return stint.GCRA(l.Tokens-1, l.Count, period)
	case "FW":
		return stint.Window(l.Tokens, stint.Period(l.Window)).In(l.Zone).From(l.From).History(l.History).Rollover(l.Rollover)
	case "CC":
		return stint.Concurrency(l.Tokens, period, l.Member)
	case "BAL":
		return stint.Balance()
	case "PENALTY":
		penalty := stint.Penalty(l.Tokens, period, time.Duration(l.Ban)*time.Millisecond)
		if l.LongestBan != 0 {
			penalty = penalty.Doubling(time.Duration(l.LongestBan) * time.Millisecond)
		}
		return penalty
	case "SW":
		return stint.SlidingWindow(l.Tokens, period).Segments(l.Segments)
	default:
		return stint.SlidingLog(l.Tokens, period)
	}
}

// raw is a key as the caller gives it.
func raw(key string) string {
	if digits, ok := strings.CutPrefix(key, "hex:"); ok {
		bytes, err := hex.DecodeString(digits)
		if err != nil {
			panic(err)
		}
		return string(bytes)
	}
	return key
}

func shown(word string) string {
	if utf8.ValidString(word) {
		return word
	}
	return "hex:" + hex.EncodeToString([]byte(word))
}

func (v vector) limits() []stint.Keyed { return onKeys(v.Limits) }

func onKeys(given []keyed) (limits []stint.Keyed) {
	for _, k := range given {
		on := stint.On(raw(k.Key), k.Limit.stint()).Keep(stint.Keep(k.Keep))
		if k.Cost != nil {
			on = on.Cost(*k.Cost)
		}
		if k.OrElse {
			on = on.OrElse()
		}
		limits = append(limits, on)
	}
	return limits
}

func (v vector) request() stint.Request {
	return stint.Request{
		Tokens: v.Tokens, Keep: stint.Keep(v.Keep), MaxWait: time.Duration(v.MaxWait) * time.Millisecond, Fields: v.Fields, ShowWarn: v.ShowWarn, Split: v.Split,
		ID: v.ID, Remember: time.Duration(v.Remember) * time.Millisecond,
	}
}

// play makes the call and fills in the outcome.
func (v *vector) play(t *testing.T) {
	v.Command, v.Error, v.Result, v.Response = nil, "", nil, nil
	server, err := servertest.NewScripted(func(words []string) string {
		v.Command = nil
		for _, word := range words {
			v.Command = append(v.Command, shown(word))
		}
		return v.Reply
	})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	policy := map[string]stint.Policy{"fail_open": stint.FailOpen(), "fail_closed": stint.FailClosed(), "local_share": stint.LocalShare(0.5)}[v.WhenDown]
	l := stint.Connect([]string{server.Address}, policy, stint.Timeout(30*time.Second))
	defer l.Close()
	ctx, key := t.Context(), raw(v.Key)
	single := func(r stint.Result, err error) { v.Result, v.Error = single(r), kind(err, r.Cause) }
	several := func(m stint.MultiResult, err error) { v.Result, v.Error = several(m), kind(err, m.Cause) }
	switch v.Call {
	case "allow":
		single(l.AllowN(ctx, key, v.Limit.stint(), v.Tokens))
	case "allow_at_most":
		single(l.AllowAtMost(ctx, key, v.Limit.stint(), v.Tokens))
	case "peek":
		single(l.Peek(ctx, key, v.Limit.stint(), v.Tokens))
	case "force":
		single(l.Force(ctx, key, v.Limit.stint(), v.Tokens))
	case "class":
		single(l.AllowClassN(ctx, v.Class.stint(), v.Tokens))
	case "peek_class":
		single(l.PeekClass(ctx, v.Class.stint(), v.Tokens))
	case "members":
		list, err := l.Members(ctx, key)
		v.Error, v.Result = kind(err, err), map[string]any{"members": members(list)}
	case "report":
		pace, known, err := l.Report(ctx, key, v.Report.stint())
		v.Error, v.Result = kind(err, err), map[string]any{"known": known, "per_second": pace.PerSecond, "pause_ms": ms(pace.Pause)}
	case "all":
		several(l.AllWith(ctx, v.request(), v.limits()...))
	case "check":
		several(l.CheckWith(ctx, v.Policy, key, v.request()))
	case "extend":
		m, _, err := l.Extend(ctx, v.ID, stint.Extension{Number: v.Number, Tokens: v.Tokens, Split: v.Split})
		several(m, err)
	case "release":
		had, err := l.Release(ctx, key, v.Limit.Member)
		v.Error, v.Result = kind(err, err), map[string]any{"known": had}
	case "add_credits", "credits":
		v.pay(t, l)
	case "settle", "settle_costs", "cancel":
		v.settle(t, l)
	case "usage":
		u, known, err := l.Usage(ctx, key)
		v.Error, v.Result = kind(err, err), map[string]any{"known": known}
		if known {
			v.Result["usage"] = usage(u)
		}
	case "policy_usage":
		all, err := l.PolicyUsage(ctx, v.Policy, key, v.Fields)
		v.Error, v.Result = kind(err, err), map[string]any{"limits": usages(all)}
	case "refund":
		remaining, known, err := l.Refund(ctx, key, v.Tokens)
		v.Error, v.Result = kind(err, err), map[string]any{"known": known, "remaining": remaining}
	case "http":
		v.respond(l)
	default:
		t.Fatalf("unknown call %q", v.Call)
	}
}

// pay adds credits to a balance, or shows it.
func (v *vector) pay(t *testing.T, l *stint.Limiter) {
	if v.Call == "add_credits" {
		p := stint.Payment{ID: v.ID, Credits: v.Tokens}
		if v.Expires != 0 {
			p.Expires = time.Unix(v.Expires, 0)
		}
		balance, err := l.AddCredits(t.Context(), raw(v.Key), p)
		v.Error, v.Result = kind(err, err), map[string]any{"balance": balance}
		return
	}
	c, known, err := l.Credits(t.Context(), raw(v.Key))
	grants := []any{}
	for _, g := range c.Grants {
		var expires any
		if !g.Expires.IsZero() {
			expires = g.Expires.Unix()
		}
		grants = append(grants, []any{g.Left, expires})
	}
	v.Error, v.Result = kind(err, err), map[string]any{"known": known}
	if known {
		v.Result["balance"], v.Result["grants"] = c.Balance, grants
	}
}

func (v *vector) settle(t *testing.T, l *stint.Limiter) {
	var charges []stint.Charge
	var err error
	switch v.Call {
	case "settle":
		charges, err = l.Settle(t.Context(), v.ID, v.Tokens)
	case "cancel":
		charges, err = l.Cancel(t.Context(), v.ID)
	default:
		costs := make([]int64, len(v.Costs))
		for i, cost := range v.Costs {
			if costs[i] = stint.KeepCharge; cost != nil {
				costs[i] = *cost
			}
		}
		charges, err = l.SettleCosts(t.Context(), v.ID, costs...)
	}
	list := []any{}
	for _, c := range charges {
		list = append(list, map[string]any{"charged": c.Charged, "limit": c.Limit, "remaining": c.Remaining, "reset_after_ms": ms(c.ResetAfter)})
	}
	v.Error, v.Result = kind(err, err), map[string]any{"known": charges != nil, "charges": list}
}

// respond lets a request through the middleware.
func (v *vector) respond(l *stint.Limiter) {
	key := func(*http.Request) string { return raw(v.Key) }
	options := []httplimit.Option{httplimit.Failed(func(*http.Request, error) {}), httplimit.Cost(func(*http.Request) int64 { return v.Tokens })}
	limits := httplimit.NewPolicy(l, "api", key, options...)
	if v.Policy == "" {
		limits = httplimit.New(l, "api", v.Limit.stint(), key, options...)
	}
	recorder := httptest.NewRecorder()
	limits.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "ok") })).
		ServeHTTP(recorder, httptest.NewRequest("GET", "/", nil))
	fields := map[string]any{}
	for name, values := range recorder.Header() {
		if strings.Contains(name, "Ratelimit") || name == "Retry-After" || name == "Cache-Control" || strings.Contains(values[0], "problem") {
			fields[strings.ToLower(name)] = strings.Join(values, ", ")
		}
	}
	v.Response = map[string]any{"status": recorder.Code, "fields": fields, "body": strings.TrimSpace(recorder.Body.String())}
	v.Result = map[string]any{}
}

func single(r stint.Result) map[string]any {
	return noted("needs_payment", r.NeedsPayment, noted("warn", r.Warn, map[string]any{
		"allowed": r.Allowed, "granted": r.Granted, "limit": r.Limit, "remaining": r.Remaining, "retry_after_ms": ms(r.RetryAfter),
		"wait_ms": ms(r.Wait), "reset_after_ms": ms(r.ResetAfter), "source": r.Source.String(),
	}))
}

// noted notes what is so. Results of which it is not so have no such part.
func noted(name string, isSo bool, result map[string]any) map[string]any {
	if isSo {
		result[name] = true
	}
	return result
}

func several(m stint.MultiResult) map[string]any {
	states := []any{}
	for _, s := range m.Limits {
		state := noted("warn", s.Warn, map[string]any{"limit": s.Limit, "remaining": s.Remaining, "reset_after_ms": ms(s.ResetAfter)})
		if s.Granted != 0 {
			state["granted"] = s.Granted
		}
		states = append(states, state)
	}
	return noted("needs_payment", m.NeedsPayment, map[string]any{
		"allowed": m.Allowed, "granted": m.Granted, "binding": m.Binding, "retry_after_ms": ms(m.RetryAfter), "wait_ms": ms(m.Wait),
		"limits": states, "source": m.Source.String(),
	})
}

func usage(u stint.Usage) map[string]any {
	history := []any{}
	for _, w := range u.History {
		history = append(history, []any{w.Start.UnixMilli(), w.End.UnixMilli(), w.Used, w.Reserved})
	}
	var start, end int64
	if !u.End.IsZero() {
		start, end = u.Start.UnixMilli(), u.End.UnixMilli()
	}
	return map[string]any{"limit": u.Limit, "used": u.Used, "reserved": u.Reserved, "lent": u.Lent, "remaining": u.Remaining, "start_ms": start, "end_ms": end, "history": history}
}

func usages(all []stint.Usage) (shown []any) {
	shown = []any{}
	for _, u := range all {
		one := usage(u)
		one["key"] = u.Key
		shown = append(shown, one)
	}
	return shown
}

// ms is -1 for Never.
func ms(d time.Duration) int64 {
	if d < 0 {
		return -1
	}
	return d.Milliseconds()
}

// kind names the class of an error, in the words of all clients.
func kind(err, cause error) string {
	switch {
	case errors.Is(cause, stint.ErrUnauthenticated):
		return "unauthenticated"
	case errors.Is(cause, stint.ErrUncertain):
		return "uncertain"
	case errors.Is(cause, stint.ErrUnavailable):
		return "unavailable"
	case errors.Is(err, stint.ErrInvalid):
		return "invalid"
	case err != nil:
		return "refused"
	}
	return ""
}

// TestVectors plays every vector. With -update it writes the outcomes of the Go client, which the other clients must
// have.
func TestVectors(t *testing.T) {
	for _, file := range files {
		playFile(t, file)
	}
}

func playFile(t *testing.T, file string) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var vectors []vector
	if err := json.Unmarshal(text, &vectors); err != nil {
		t.Fatal(err)
	}
	for i := range vectors {
		want := vectors[i]
		t.Run(want.Name, func(t *testing.T) {
			got := &vectors[i]
			got.play(t)
			if *update {
				return
			}
			if g, w := normal(t, *got), normal(t, want); !reflect.DeepEqual(g, w) {
				t.Errorf("got  %v\nwant %v", g, w)
			}
		})
	}
	if *update {
		text, err := json.MarshalIndent(vectors, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, append(text, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// normal is a vector as it comes back from JSON.
func normal(t *testing.T, v vector) (decoded map[string]any) {
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &decoded); err != nil {
		t.Fatal(err)
	}
	return decoded
}
