package group

import (
	"context"
	"testing"
	"time"

	"github.com/stintdb/stint/cluster/clock"
	"github.com/stintdb/stint/cluster/propose"
	"github.com/stintdb/stint/cluster/raftnode"
)

// A node that is closed while it transfers leadership waits for its proposer no longer: it would look without a pause.
func TestTransferOfAClosedNode(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	waits := &transfers{opt: &Config{Heartbeat: time.Hour}, raft: &raftnode.Node{Ctx: ctx}, clock: clock.New(time.Now)}
	looks := 0
	waits.awaitProposed(func(*propose.Proposer) bool {
		looks++
		return looks == 100
	})
	if looks > 1 {
		t.Errorf("it looked %d times", looks)
	}
}
