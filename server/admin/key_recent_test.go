package admin

import (
	"strings"
	"testing"
	"time"

	"github.com/stintdb/stint/server"
	"github.com/stintdb/stint/server/config"
)

func sumOf(all []int64) (sum int64) {
	for _, n := range all {
		sum += n
	}
	return sum
}

// A key's last minutes show the requests that it limits: of its caller, of all callers, or without a policy, the
// requests since it was first denied.
func TestLastMinutesOfAKey(t *testing.T) {
	h := newHost(t, nil)
	h.serve()
	c := h.dial()
	h.do(c, "RL.POLICY SET api TB user:{} 2 1/h TB of:{tenant} 100 1/h TB all 100 1/h", "RL.POLICY SET other TB user:{} 100 1/h",
		"RL.CHECK api a WITH tenant t", "RL.CHECK api a WITH tenant t", "RL.CHECK api a WITH tenant t", "RL.CHECK api b WITH tenant u", "RL.CHECK other a",
		"TB.ACQUIRE plain 1 1/h", "TB.ACQUIRE plain 1 1/h", "TB.ACQUIRE granted 1 1/h")
	for _, tc := range []struct {
		key             string
		granted, denied int64
		every           time.Duration
	}{
		{"user:a", 3, 1, 10 * time.Second}, {"user:b", 1, 0, 10 * time.Second}, {"of:t", 2, 1, 10 * time.Second}, {"all", 3, 1, 10 * time.Second}, {"plain", 0, 1, time.Minute},
	} {
		r := h.viewed(tc.key).Recent
		if r == nil || sumOf(r.Granted) != tc.granted || sumOf(r.Denied) != tc.denied || r.EveryMs != tc.every.Milliseconds() || r.OneIn != 1 {
			t.Errorf("%s: %+v", tc.key, r)
		}
	}
	for _, unknown := range []string{"granted", "user:c"} {
		if r := h.viewed(unknown).Recent; r != nil {
			t.Errorf("%s: %+v", unknown, r)
		}
	}
	off := newHost(t, func(cfg *config.Config, _ *server.Options) { set(t, cfg, "top-keys", "off") })
	off.serve()
	off.do(off.dial(), "RL.POLICY SET api TB user:{} 2 1/h", "RL.CHECK api a")
	if _, body := off.get("/api/key?key=user:a"); !strings.Contains(body, `"recent":null`) {
		t.Error(body)
	}
}

// A request is counted in the span in which it came, and left out if it is older than the window.
func TestSpansOfAKey(t *testing.T) {
	v := newKeyRecent(time.Duration(denialSpan))
	for _, ago := range []int64{-1, 0, denialSpan - 1, denialSpan, 30*denialSpan - 1, 30 * denialSpan} {
		v.count(ago, 1, 0)
	}
	if v.Granted[29] != 3 || v.Granted[28] != 1 || v.Granted[0] != 1 || sumOf(v.Granted) != 5 {
		t.Error(v.Granted)
	}
}
