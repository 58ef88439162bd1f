package envoy

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stintdb/stint/server"
	"github.com/stintdb/stint/server/config"
	"github.com/stintdb/stint/server/metrics"
)

// Decisions are counted by rule.
func TestCounts(t *testing.T) {
	h := newHost(t, nil)
	h.play([]step{
		{"shop trial=1 banned=1", "OVER_LIMIT | OK 0/1 MINUTE 35s | OVER_LIMIT 0/0 MINUTE 35s"},
		{"shop trial=1 free=1", "OK | OK 0/1 MINUTE 35s | OK 4294967295"},
		{"shop trial=2 other=1", "OK | OK 0/1 MINUTE 35s | OK 0"},
	})
	expect := func(name string, want metrics.PolicyCounts) {
		t.Helper()
		want.Name = name
		m := h.server.MetricsSnapshot().Envoy
		for _, c := range m.Counts {
			if c.Name == name && c == want {
				return
			}
		}
		t.Errorf("want %+v among %+v", want, m.Counts)
	}
	expect("shop.trial", metrics.PolicyCounts{Granted: 2, ShadowDenied: 1})
	expect("shop.banned", metrics.PolicyCounts{Denied: 1})
	expect("shop.free", metrics.PolicyCounts{Granted: 1})
	expect("shop.table_orders", metrics.PolicyCounts{})
}

// The number of series is limited, and no series appears twice.
func TestSeriesAreBounded(t *testing.T) {
	dir, text := t.TempDir(), "domain: d\ndescriptors:\n"
	for i := range 150 {
		text += fmt.Sprintf("  - {key: k, value: %s%d, rate_limit: {unlimited: true}}\n", strings.Repeat("x", i%2*70), i)
	}
	if err := os.WriteFile(filepath.Join(dir, "d.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	h := newHost(t, func(cfg *config.Config, _ *server.Options) { cfg.RLSConfig = dir })
	m := h.server.MetricsSnapshot().Envoy
	seen := map[string]bool{}
	for _, c := range m.Counts {
		if seen[c.Name] {
			t.Errorf("%s is there twice", c.Name)
		}
		seen[c.Name] = true
	}
	if m.Rules != 150 || len(m.Counts) != 76 { // 75 short paths, and one to which all long paths are shortened
		t.Errorf("%d rules in %d series", m.Rules, len(m.Counts))
	}
}
