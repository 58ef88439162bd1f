package conn

import (
	"testing"
	"time"

	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/server/clock/clocktest"
)

// A denial is not counted as a request that passed, after any contents of the batch.
func TestDenialsDoNotPass(t *testing.T) {
	for _, before := range []string{"PING", "TB.ACQUIRE other 1 1/h", "RL.ALL TB v 9 1/h TB w 9 1/h", "RL.CHECK api a"} {
		clock := clocktest.New(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)).Clock
		h := newEnv(t, store.New(store.Config{Shards: 16}), clock)
		s := h.NewSession("client", "server", func() {})
		batch, cfg := h.getBatch(), h.config()
		for _, command := range []string{"RL.POLICY SET api TB u:{} 9 1/h", "TB.ACQUIRE k 1 1/h", before, "TB.ACQUIRE k 1 1/h", before, "TB.ACQUIRE k 1 1/h"} {
			s.receive(frames(command), batch, cfg)
		}
		entries, _ := h.TopKeys.Top(1, clock.Now())
		if len(entries) != 1 || entries[0].Own.Denied != 2 || entries[0].Own.Passed != 0 {
			t.Errorf("after %s: %+v", before, entries)
		}
	}
}
