package conn

import (
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/server/clock"
)

// A check waits for the lease that its policy had when the wait began, although the policy loses it at that moment.
func TestPolicyLosesItsLease(t *testing.T) {
	keys, clock := store.New(store.Config{}), clock.New(0)
	defer keys.Close()
	h := newEnv(t, keys, clock)
	h.Blocked.Start(func() {}, func() {})
	h.keyWaits.Keys = &onceAsked{Store: keys}
	s := h.NewSession("client", "server", func() {})
	batch, cfg := h.getBatch(), h.config()
	for _, command := range []string{"RL.POLICY SET jobs CC gpu 1 1m {}", "CC.ACQUIRE gpu 1 1m a", "RL.CHECK jobs b BLOCK 10s"} {
		s.receive(frames(command), batch, cfg)
	}
	if s.keyWait == nil {
		t.Error("the check does not wait")
	}
	s.endKeyWait(true)
}

// onceAsked knows the limits of a policy once.
type onceAsked struct {
	*store.Store
	asked int
}

func (o *onceAsked) Asked(op *engine.Op) []engine.Op {
	if o.asked++; o.asked > 1 {
		return nil
	}
	return o.Store.Asked(op)
}
