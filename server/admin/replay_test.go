package admin

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stintdb/stint/server"
	"github.com/stintdb/stint/server/config"
)

// A preview replays the requests of the last minutes: as they were decided, with the present limits, and with the
// draft.
func TestPreviewReplays(t *testing.T) {
	h := newHost(t, nil)
	h.serve()
	c := h.dial()
	h.do(c, "RL.POLICY SET p TB u:{} 4 1/h TB all 100 1/h", "RL.POLICY OVERRIDE p vip TB u:{} 100 1/h", "RL.POLICY SET q TB t:{tenant} 100 1/h CC busy:{} 50 1h {}")
	var checks []string
	for range 6 {
		checks = append(checks, "RL.CHECK p a", "RL.CHECK p vip", "RL.CHECK p a 1 PEEK", "RL.CHECK q a WITH tenant x")
	}
	h.do(c, append(checks, "RL.CHECK p b 3", "RL.CHECK p b 2", "DEL u:a", "RL.CHECK p a")...) // a: 4 of 6, and one more; b: one of two
	for _, tc := range []struct{ draft, of, want string }{
		{"TB u:{} 4 1/h", "", `"oneIn":1,"leftOut":0,"requests":9,"callers":2,"happened":{"denied":3,"callers":2,`},
		{"TB u:{} 4 1/h", "", `"before":{"denied":4,"callers":2,`}, // without the DEL
		{"TB u:{} 2 1/h", "", `"then":{"denied":6,"callers":2,`},   // b gets the second request
		{"TB u:{} 9 1/h", "", `"then":{"denied":0,"callers":0,`},
		{"TB all 5 1/h TB u:{} 9 1/h", "", `"then":{"denied":4,`},
		{"TB t:{tenant} 1 1/h", "", `none of the last 9 requests on p has the field tenant, so each would be an error`},
		{"TB t:{tenant} 1 1/h", "q", `"of":"q","withinMs":`},
		{"TB t:{tenant} 1 1/h", "q", `"then":{"denied":5,"callers":1,`},
		{"TB t:{tenant} 1 1/h", "q", `"without":["CC busy:{} 50 1h {}"]},"then":`},
		{"CC u:{} 1 1h {}", "", `"then":null`},
		{"TB u:{} 9 1/h", "nobody", `"replay":null`},
	} {
		body := `{"name":"p","limits":` + quote(tc.draft) + `,"of":` + quote(tc.of) + `}`
		if _, got := h.send(http.MethodPost, "/api/policy/preview", body); !strings.Contains(got, tc.want) {
			t.Errorf("%s:\n%s\nwant …%s", tc.draft, got, tc.want)
		}
	}
	if _, got := h.get("/api/policies"); !strings.Contains(got, `"recorded":["p","q"]`) {
		t.Error(got)
	}
}

// Of a sample of the callers, a limit that several share cannot be replayed.
func TestPreviewOfASample(t *testing.T) {
	t.Parallel() // it waits
	h := newHost(t, nil)
	h.serve()
	c := h.dial()
	h.do(c, "RL.POLICY SET p TB u:{} 1 1/h TB all 100000 1000/h")
	for range 40 {
		var checks []string
		for i := range 2000 {
			checks = append(checks, fmt.Sprintf("RL.CHECK p caller-%d", i))
		}
		h.do(c, checks...)
	}
	body := `{"name":"p","limits":"TB u:{} 10 1/h TB all 5 1/h"}`
	_, got := h.send(http.MethodPost, "/api/policy/preview", body)
	var e effect
	if err := json.Unmarshal([]byte(got), &e); err != nil || e.Replay == nil {
		t.Fatal(err, got)
	}
	r := e.Replay
	if r.OneIn < 2 || r.Callers == 0 || r.Callers > 2000/2 || r.Requests != int64(40*r.Callers) || r.Happened.Denied != int64(39*r.Callers) {
		t.Errorf("%d requests of %d callers, one in %d, %d denied", r.Requests, r.Callers, r.OneIn, r.Happened.Denied)
	}
	if r.Then.Denied != int64(30*r.Callers) || r.Then.Callers != r.Callers || len(r.Then.Without) != 1 || r.Then.Without[0] != "TB all 5 1/1h" {
		t.Errorf("with the draft: %+v", r.Then)
	}
}

// With --top-keys off, no request is recorded.
func TestNothingIsRecordedWithTopKeysOff(t *testing.T) {
	h := newHost(t, func(cfg *config.Config, _ *server.Options) { cfg.TopKeys = "off" })
	h.serve()
	h.do(h.dial(), "RL.POLICY SET p TB u:{} 4 1/h", "RL.CHECK p a")
	if _, got := h.send(http.MethodPost, "/api/policy/preview", `{"name":"p","limits":"TB u:{} 1 1/h"}`); !strings.Contains(got, `"replay":null`) || len(h.server.Recent().Policies()) > 0 {
		t.Error(got)
	}
}
