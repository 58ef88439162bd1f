package admin

import (
	"strings"
	"testing"

	"github.com/stintdb/stint/server"
	"github.com/stintdb/stint/server/config"
)

// The page shows the tokens that are lent, and their holders.
func TestLentTokens(t *testing.T) {
	for mode, key := range map[string]string{"plain": `"key":"k","whole":true,`, "hashed": `"key":"hash:`, "off": ""} {
		h := newHost(t, func(cfg *config.Config, _ *server.Options) { cfg.TopKeys = mode })
		h.serve()
		c := h.dial()
		h.do(c, "RL.LEND k TB 100 1/h 10 node1 1 0", "RL.LEND k TB 100 1/h 5 node2 1 0", "TB.ACQUIRE other 5 1/h")
		_, body := h.get("/api/overview")
		_, lent, _ := strings.Cut(body, `"lent":[`)
		lent, _, _ = strings.Cut(lent, `"cluster"`)
		if want := `"loans":[{"holder":"node1","tokens":10,"leftMs":0},{"holder":"node2","tokens":5,"leftMs":0}]`; key != "" && !strings.Contains(lent, want) || !strings.Contains(lent, key) || strings.Contains(lent, "other") {
			t.Errorf("%s: %s", mode, lent)
		}
		if key == "" && lent != "]," {
			t.Errorf("%s: %s", mode, lent)
		}
		if _, body := h.get("/api/key?key=k"); !strings.Contains(body, `"lent":15,"loans":[{"holder":"node1","tokens":10`) {
			t.Errorf("%s: %s", mode, body)
		}
	}
}
