package raftnode

import (
	"strings"
	"testing"
	"time"

	"github.com/stintdb/stint/cluster/clock"
	"github.com/stintdb/stint/internal/testlog"
)

// A leader that had no processor time says so, but not if it has had some again for long.
func TestLossOfAProcessThatStoodStill(t *testing.T) {
	for ago, want := range map[time.Duration]string{0: "stood_still=1.5s remedy=\"this process had no processor time",
		time.Hour: "remedy=\"check the network\""} {
		var log testlog.Log
		n := New(t.Context(), "a#1", time.Second, clock.New(time.Now), log.Logger(), nil)
		n.lost.Store(&loss{term: 3, reason: "others were elected", remedy: "check the network"})
		n.paused.Store(&pause{n.clock.Mono() - ago, 1500 * time.Millisecond})
		n.LogLoss(3, false)
		if got := log.String(); !strings.Contains(got, `term=3 reason="others were elected" `+want) {
			t.Errorf("%v later the log says %s", ago, got)
		}
	}
}
