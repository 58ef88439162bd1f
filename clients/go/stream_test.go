package stint_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	stint "github.com/stintdb/stint/clients/go"
	"github.com/stintdb/stint/clients/go/internal/servertest"
)

// budget replies as the server does to RL.CHECK, RL.ALL, RL.EXTEND, RL.SETTLE and RL.CANCEL, for one limit.
type budget struct {
	mu      sync.Mutex
	size    int64
	held    map[string][]int64 // by extension, the request first
	charged map[string]int64
	loses   []string // commands whose next reply is lost
	gone    bool
	sent    []string
}

func newBudget(t *testing.T, size int64) (*budget, string) {
	b := &budget{size: size, held: map[string][]int64{}, charged: map[string]int64{}}
	server, err := servertest.NewScripted(b.reply)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	return b, server.Address
}

func (b *budget) left() int64 {
	left := b.size
	for _, all := range b.held {
		for _, n := range all {
			left -= n
		}
	}
	for _, n := range b.charged {
		left -= n
	}
	return left
}

func (b *budget) reply(words []string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.gone {
		return ""
	}
	b.sent = append(b.sent, strings.Join(words, " "))
	reply := b.carryOut(words)
	if i := slices.Index(b.loses, words[0]); i >= 0 {
		b.loses = slices.Delete(b.loses, i, i+1)
		return ""
	}
	return reply
}

func (b *budget) carryOut(words []string) string {
	id := words[1]
	number := func(i int) int64 {
		n, _ := strconv.ParseInt(words[i], 10, 64)
		return n
	}
	switch words[0] {
	case "RL.CHECK", "RL.ALL":
		id = words[slices.Index(words, "AS")+1]
		tokens := number(3)
		if i := slices.Index(words, "TOKENS"); i >= 0 {
			tokens = number(i + 1)
		}
		if had, ok := b.held[id]; ok {
			return b.granted(had[0], -1)
		}
		if tokens > b.left() {
			return b.granted(0, -1)
		}
		b.held[id] = []int64{tokens}
		return b.granted(tokens, -1)
	case "RL.EXTEND":
		had, ok := b.held[id]
		if !ok {
			return "*-1"
		}
		if n := int64(len(had)); number(2) == n-1 {
			return b.granted(had[n-1], n)
		} else if number(2) != n {
			return fmt.Sprintf("-ERR n: the next extension of this reservation has the number %d, got %d", n, number(2))
		}
		granted := min(number(3), b.left())
		if granted > 0 {
			b.held[id] = append(had, granted)
		}
		return b.granted(granted, 0)
	}
	if _, ok := b.held[id]; ok {
		delete(b.held, id)
		b.charged[id] = 0
		if words[0] == "RL.SETTLE" {
			b.charged[id] = number(2)
		}
	}
	if _, ok := b.charged[id]; !ok {
		return "*-1"
	}
	return fmt.Sprintf("*1\r\n*4\r\n:%d\r\n:%d\r\n:%d\r\n:0", b.charged[id], b.size, b.left())
}

func (b *budget) granted(tokens, total int64) string {
	binding, wait, parts := -1, 0, 4
	if tokens == 0 {
		binding, wait = 0, 30_000
	}
	end := ""
	if total >= 0 {
		parts, end = 5, fmt.Sprintf("\r\n:%d", total)
	}
	return fmt.Sprintf("*%d\r\n:%d\r\n:%d\r\n:%d\r\n*1\r\n*3\r\n:%d\r\n:%d\r\n:0%s", parts, tokens, binding, wait, b.size, max(0, b.left()), end)
}

// count is the number of commands of this name that were sent.
func (b *budget) count(name string) (count int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, command := range b.sent {
		if strings.HasPrefix(command, name+" ") {
			count++
		}
	}
	return count
}

// deliver adds chunks until one is refused, and closes the stream.
func deliver(t *testing.T, s *stint.Stream, chunk int64, chunks int, usage int64) (delivered int64, err error) {
	t.Helper()
	delivered, err = addChunks(s, chunk, chunks)
	if usage >= 0 {
		if err := s.Settle(usage); err != nil {
			t.Error(err)
		}
	}
	for range 2 { // settled once
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	return delivered, err
}

// TestStreams: each stream is settled once, with its usage, or what was delivered, and never beyond the budget.
func TestStreams(t *testing.T) {
	for _, c := range []struct {
		name             string
		budget           int64
		options          stint.StreamOptions
		chunk            int64
		chunks           int
		usage            int64
		charged          int64
		denied           bool
		extended, losing string
	}{
		{name: "completion", budget: 4000, options: stint.StreamOptions{Prompt: 100, Step: 200}, chunk: 10, chunks: 100, usage: -1, charged: 1100, extended: "200 200 200 225 281"},
		{name: "usage", budget: 4000, options: stint.StreamOptions{Prompt: 100}, chunk: 10, chunks: 100, usage: 900, charged: 900},
		{name: "more usage than reserved", budget: 4000, options: stint.StreamOptions{Prompt: 100}, chunk: 10, chunks: 10, usage: 5000, charged: 5000},
		{name: "closed early", budget: 4000, chunk: 10, chunks: 3, usage: -1, charged: 30},
		{name: "nothing delivered", budget: 4000, options: stint.StreamOptions{Prompt: 100}, usage: -1, charged: 0},
		{name: "only begun", budget: 4000, options: stint.StreamOptions{Prompt: 100}, chunks: 1, usage: -1, charged: 100},
		{name: "denied", budget: 1000, options: stint.StreamOptions{Prompt: 95, Step: 200}, chunk: 30, chunks: 100, usage: -1, charged: 995, denied: true},
		{name: "the rest of a budget", budget: 150, options: stint.StreamOptions{Prompt: 100}, chunk: 49, chunks: 1, usage: -1, charged: 149},
		{name: "lost replies", budget: 4000, chunk: 10, chunks: 30, usage: -1, charged: 300, losing: "RL.CHECK RL.EXTEND RL.SETTLE"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, address := newBudget(t, c.budget)
			b.loses = strings.Fields(c.losing)
			l := stint.Connect([]string{address}, stint.FailClosed(), stint.Timeout(generous))
			defer l.Close()
			s, err := l.Stream(t.Context(), "llm", "ann", c.options)
			if err != nil {
				t.Fatal(err)
			}
			delivered, err := deliver(t, s, c.chunk, c.chunks, c.usage)
			var spent *stint.BudgetSpentError
			if errors.As(err, &spent) != c.denied || c.denied && (spent.Used != c.charged || spent.Result.RetryAfter != 30*time.Second || spent.Result.Binding != 0) {
				t.Errorf("error %v", err)
			}
			if c.denied && s.Add(1) == nil {
				t.Error("the stream goes on")
			}
			if s.Used() != c.options.Prompt+delivered || b.charged[s.ID()] != c.charged || len(b.held) != 0 || s.Charges()[0].Charged != c.charged {
				t.Errorf("%d used, %d charged, %v held, %v", s.Used(), b.charged[s.ID()], b.held, s.Charges())
			}
			if c.losing == "" && b.count("RL.SETTLE")+b.count("RL.CANCEL") != 1 {
				t.Errorf("settled more than once: %q", b.sent)
			}
			var extended []string
			for _, command := range b.sent {
				if words := strings.Fields(command); words[0] == "RL.EXTEND" {
					extended = append(extended, words[3])
				}
			}
			if c.extended != "" && strings.Join(extended, " ") != c.extended {
				t.Errorf("extended by %v, want %s", extended, c.extended)
			}
		})
	}
}

// TestDeniedStream: a stream without room for its prompt and a token more does not begin, and takes nothing.
func TestDeniedStream(t *testing.T) {
	b, address := newBudget(t, 100)
	l := stint.Connect([]string{address}, stint.FailClosed(), stint.Timeout(generous))
	defer l.Close()
	s, err := l.Stream(t.Context(), "llm", "ann", stint.StreamOptions{Prompt: 100})
	var spent *stint.BudgetSpentError
	if s != nil || !errors.As(err, &spent) || spent.Used != 0 || len(b.sent) != 1 || b.left() != 100 {
		t.Errorf("%v; sent %q", err, b.sent)
	}
}

// TestStreamEndsWithContext: it is settled all the same.
func TestStreamEndsWithContext(t *testing.T) {
	b, address := newBudget(t, 4000)
	l := stint.Connect([]string{address}, stint.FailClosed(), stint.Timeout(generous))
	defer l.Close()
	ctx, cancel := context.WithCancel(t.Context())
	s, err := l.Stream(ctx, "llm", "ann", stint.StreamOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Add(50); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := s.Add(1000); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := s.Close(); err != nil || b.charged[s.ID()] != 50 {
		t.Errorf("%v; %v", err, b.charged)
	}
	if err := s.Add(0); !errors.Is(err, stint.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	if _, err := l.Stream(ctx, "llm", "ann", stint.StreamOptions{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// addChunks adds chunks of some tokens until one no longer fits.
func addChunks(s *stint.Stream, chunk int64, chunks int) (delivered int64, err error) {
	for range chunks {
		if err = s.Add(chunk); err != nil {
			break
		}
		delivered += chunk
	}
	return delivered, err
}

// TestStreamWithoutServer: when the server goes, what is reserved lasts, and then the fallback decides.
func TestStreamWithoutServer(t *testing.T) {
	for name, c := range map[string]struct {
		policy    stint.Policy
		delivered int64
	}{"closed": {stint.FailClosed(), 250}, "open": {stint.FailOpen(), 1000}} {
		t.Run(name, func(t *testing.T) {
			b, address := newBudget(t, 4000)
			l := stint.Connect([]string{address}, c.policy, stint.Timeout(300*time.Millisecond), stint.ConnectTimeout(generous))
			defer l.Close()
			s, err := l.Stream(t.Context(), "llm", "ann", stint.StreamOptions{})
			if err != nil {
				t.Fatal(err)
			}
			b.mu.Lock()
			b.gone = true
			b.mu.Unlock()
			delivered, err := addChunks(s, 10, 100)
			var spent *stint.BudgetSpentError
			if delivered != c.delivered || errors.As(err, &spent) != (delivered < 1000) || err != nil && !errors.Is(err, stint.ErrUnavailable) {
				t.Errorf("%d delivered, %v", delivered, err)
			}
			if err := s.Close(); !errors.Is(err, stint.ErrUnavailable) {
				t.Errorf("closed: %v", err)
			}
		})
	}
}

// TestStreamOfTheFallback: the server, which knows nothing of it, is asked for no extension.
func TestStreamOfTheFallback(t *testing.T) {
	for name, c := range map[string]struct {
		policy    stint.Policy
		delivered int64
	}{"open": {stint.FailOpen(), 1000}, "share": {stint.LocalShare(0.5), 500}} {
		t.Run(name, func(t *testing.T) {
			b, address := newBudget(t, 4000)
			b.gone = true
			l := stint.Connect([]string{address}, c.policy, stint.Timeout(300*time.Millisecond))
			defer l.Close()
			limits := []stint.Keyed{stint.On("calls", stint.PerDay(1)).Cost(1), stint.On("k", stint.PerDay(1000))}
			s, err := l.StreamAll(t.Context(), stint.StreamOptions{Step: 100}, limits[1:]...)
			if err != nil {
				t.Fatal(err)
			}
			b.mu.Lock()
			b.gone = false
			b.mu.Unlock()
			delivered, err := addChunks(s, 10, 100)
			var spent *stint.BudgetSpentError
			if delivered != c.delivered || errors.As(err, &spent) != (delivered < 1000) || b.count("RL.EXTEND") != 0 {
				t.Errorf("%d delivered, %v; sent %q", delivered, err, b.sent)
			}
		})
	}
}

// TestForgottenStream: the server does not remember it.
func TestForgottenStream(t *testing.T) {
	b, address := newBudget(t, 4000)
	l := stint.Connect([]string{address}, stint.FailClosed(), stint.Timeout(generous))
	defer l.Close()
	s, err := l.Stream(t.Context(), "llm", "ann", stint.StreamOptions{Remember: 1500 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	clear(b.held)
	var spent *stint.BudgetSpentError
	if err := s.Add(1000); err == nil || errors.As(err, &spent) {
		t.Error(err)
	}
	if want := "RL.EXTEND " + s.ID() + " 1 744 UPTO FOR 1500ms"; b.sent[1] != want {
		t.Errorf("sent %q, want %q", b.sent[1], want)
	}
	if err := s.Close(); err == nil {
		t.Error("no error when it was closed")
	}
}

// TestExtend: the call itself.
func TestExtend(t *testing.T) {
	_, address := newBudget(t, 1000)
	l := stint.Connect([]string{address}, stint.FailClosed(), stint.Timeout(generous))
	defer l.Close()
	r := stint.Request{Tokens: 100, ID: "call", Remember: time.Minute}
	if m, err := l.AllWith(t.Context(), r, stint.On("k", stint.Window(1000, stint.Day))); err != nil || !m.Allowed {
		t.Fatal(m, err)
	}
	for _, c := range []struct {
		id         string
		e          stint.Extension
		granted    int64
		known, bad bool
	}{
		{"call", stint.Extension{Number: 1, Tokens: 500}, 500, true, false},
		{"call", stint.Extension{Number: 1, Tokens: 500}, 500, true, false},
		{"call", stint.Extension{Number: 2, Tokens: 500, UpTo: true}, 400, true, false},
		{"call", stint.Extension{Number: 3, Tokens: 1}, 0, true, false},
		{"call", stint.Extension{Number: 9, Tokens: 1}, 0, true, true},
		{"nobody", stint.Extension{Number: 1, Tokens: 1}, 0, false, false},
		{"call", stint.Extension{Tokens: 1}, 0, true, true},
		{"call", stint.Extension{Number: 3}, 0, true, true},
		{"call", stint.Extension{Number: 3, Tokens: 1, Remember: -1}, 0, true, true},
	} {
		m, known, err := l.Extend(t.Context(), c.id, c.e)
		if m.Granted != c.granted || m.Allowed != (c.granted > 0) || known != c.known || (err != nil) != c.bad {
			t.Errorf("%s %+v: %+v, %v, %v", c.id, c.e, m, known, err)
		}
	}
}

// TestFirstSlices: the mean of what the last eight streams have delivered, from one step to sixteen.
func TestFirstSlices(t *testing.T) {
	b, address := newBudget(t, 1_000_000_000)
	l := stint.Connect([]string{address}, stint.FailClosed(), stint.Timeout(generous))
	defer l.Close()
	take := func(l *stint.Limiter, prompt, usage int64) {
		t.Helper()
		s, err := l.Stream(t.Context(), "llm", "ann", stint.StreamOptions{Prompt: prompt})
		if err != nil {
			t.Fatal(err)
		}
		_, _ = deliver(t, s, 0, 0, usage)
	}
	for _, delivered := range []int64{1000, 2000, 1_000_000, 1} {
		take(l.With(stint.Timeout(generous)), 50, delivered+50)
	}
	take(l, 0, -1) // it never began
	for range 9 {
		take(l, 0, 10)
	}
	var first []string
	for _, command := range b.sent {
		if words := strings.Fields(command); words[0] == "RL.CHECK" {
			first = append(first, words[3])
		}
	}
	if got := strings.Join(first[:5], " ") + " … " + first[len(first)-1]; got != "306 1050 1550 4146 4096 … 256" {
		t.Error(got)
	}
}

// TestStreamMistakes are found before anything is sent.
func TestStreamMistakes(t *testing.T) {
	b, address := newBudget(t, 1000)
	l := stint.Connect([]string{address}, stint.FailClosed(), stint.Timeout(generous))
	defer l.Close()
	for _, o := range []stint.StreamOptions{{Prompt: -1}, {Step: -1}, {Step: 1_000_000_001}, {Remember: -1}, {Keep: "x"}} {
		if _, err := l.Stream(t.Context(), "llm", "ann", o); !errors.Is(err, stint.ErrInvalid) || len(b.sent) != 0 {
			t.Errorf("%+v: %v, %q", o, err, b.sent)
		}
	}
	s, err := l.Stream(t.Context(), "llm", "ann", stint.StreamOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if s.Add(-1) == nil || s.Settle(-1) == nil || s.Settle(5) != nil || s.Settle(5) != nil || s.Settle(6) == nil {
		t.Error("a mistake was taken")
	}
}

// TestStreamsOnOneBudget: a thousand streams of a real server use the budget, and do not exceed it.
func TestStreamsOnOneBudget(t *testing.T) {
	const streams, size = 1000, 1_000_000
	l := connect(t)
	limit := stint.On(t.Name(), stint.Window(size, stint.Starting(time.Hour)))
	var delivered atomic.Int64
	var all sync.WaitGroup
	for i := range streams {
		all.Go(func() {
			s, err := l.StreamAll(t.Context(), stint.StreamOptions{Step: 100}, limit)
			if err == nil {
				for err == nil {
					if err = s.Add(int64(5 + i%7)); err == nil && s.Used() > 5000 {
						break
					}
				}
				delivered.Add(s.Used())
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}
			var spent *stint.BudgetSpentError
			if err != nil && !errors.As(err, &spent) {
				t.Error(err)
			}
		})
	}
	all.Wait()
	u, _, err := l.Usage(t.Context(), t.Name())
	if n := delivered.Load(); err != nil || n < size*95/100 || n > size || u.Used != n {
		t.Errorf("%d delivered of %d, %d charged, %v", n, size, u.Used, err)
	}
	t.Logf("%d of %d", delivered.Load(), size)
}
