package trial

import (
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/server/command"
	_ "github.com/stintdb/stint/server/command/all" // the table
)

func limits(t *testing.T, words ...string) Limits {
	t.Helper()
	r := command.Request{Bounds: command.Bounds{MaxKeyBytes: 1000, MaxLogLimit: 1000}}
	for _, w := range append([]string{"RL.POLICY", "SET", "p"}, words...) {
		r.Args = append(r.Args, []byte(w))
	}
	row, err := command.Find(r.Args)
	if err == nil {
		err = row.Parse(&r)
	}
	if err != nil {
		t.Fatal(err)
	}
	l, err := NewLimits(r.Ops[0].Parts)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// Requests are decided by all limits together, at their own times, and the limit with the longest wait is returned.
func TestAsk(t *testing.T) {
	const hour = int64(3600e9)
	l := limits(t, "TB", "user:{}", "2", "1/h", "TB", "all", "100", "1000/h", "FW", "of:{tenant}", "5", "2h", "COST", "2")
	trial := l.Begin(16)
	defer trial.Close()
	acme := [][]byte{[]byte("tenant"), []byte("acme")}
	for i, tc := range []struct {
		at, tokens int64
		id         string
		allowed    bool
		binding    int
	}{{0, 1, "a", true, 0}, {0, 2, "a", false, 0}, {1, 1, "a", true, 0}, {2, 1, "a", false, 2}, {hour, 1, "b", false, 2}, {2 * hour, 2, "b", true, 0}, {2 * hour, 101, "c", false, 0}} {
		if allowed, binding := trial.Ask(tc.at, tc.tokens, []byte(tc.id), acme); allowed != tc.allowed || !allowed && binding != tc.binding {
			t.Errorf("request %d: %v by %d", i, allowed, binding)
		}
	}
	if names, err := l.Names(); err != nil || len(names) != 1 || names[0] != "tenant" {
		t.Errorf("%v %v", names, err)
	}
	if trial.Bytes() == 0 || l.Specs()[2] != "FW of:{tenant} 5 2h COST 2" {
		t.Errorf("%v", l.Specs())
	}
}

// One limit is asked for the tokens of a request, or for its own cost.
func TestAskOne(t *testing.T) {
	for _, tc := range []struct {
		cost     string
		requests int
	}{{"", 2}, {"5", 2}, {"1", 10}} {
		words := []string{"TB", "{}", "10", "1/h"}
		if tc.cost != "" {
			words = append(words, "COST", tc.cost)
		}
		l := limits(t, words...)
		trial := l.Begin(16)
		granted := 0
		for range 20 {
			if allowed, _ := trial.Ask(engine.MaxFields, 5, []byte("a"), nil); allowed {
				granted++
			}
		}
		trial.Close()
		if granted != tc.requests {
			t.Errorf("cost %q: %d granted, want %d", tc.cost, granted, tc.requests)
		}
	}
}
