package group

import (
	"context"
	"time"

	"github.com/stintdb/stint/cluster/allowance"
	"github.com/stintdb/stint/cluster/clock"
	"github.com/stintdb/stint/cluster/fsm"
	"github.com/stintdb/stint/cluster/oncelog"
	"github.com/stintdb/stint/engine/limits"
)

// allowanceSwitch opens and closes the allowance of a node while it leads.
type allowanceSwitch struct {
	opt       *Config
	clock     *clock.Clock
	fsm       *fsm.Machine
	formats   *versionGate
	role      *leaderRole
	allowance *allowance.Allowance
	log       *oncelog.Log

	// Of look:
	closed time.Duration // since when nothing was taken in this term, on the monotonic clock
	term   *allowance.Term
}

// allowanceEvery is the time between two looks at the setting, and between two sweeps.
const allowanceEvery = 100 * time.Millisecond

// look follows the setting. The log says that leaders may take tokens before the first is taken, and until all are back
// after the last was taken.
func (w *allowanceSwitch) look(ctx context.Context) (pause time.Duration) {
	if w.role.active() == nil {
		return clock.UntilNext(tickEvery)
	}
	wanted, used, t := w.opt.Allowance(), w.fsm.Cluster.Load().Allowance, w.allowance.Term.Load()
	if wanted || t != w.term {
		w.closed, w.term = w.clock.Mono(), t
	}
	switch {
	case wanted && t == nil:
		w.allowance.StartTerm(used)
	case wanted && !used:
		w.record(ctx, true)
	case t == nil:
	case !wanted && used && w.clock.Mono()-w.closed > 2*limits.MaxAllowanceTime:
		w.record(ctx, false)
	case !wanted && !used:
		w.allowance.Term.CompareAndSwap(t, nil)
	default:
		t.IsOpen.Store(wanted && used)
	}
	w.allowance.Sweep()
	return clock.UntilNext(allowanceEvery)
}

// record writes into the log whether leaders may take tokens.
func (w *allowanceSwitch) record(ctx context.Context, allowance bool) {
	if err := w.formats.propose(ctx, fsm.KindAllowance, fsm.AllowanceBody{Allowance: allowance}); err != nil {
		w.log.Once("allowance", "cannot switch decisions in the leader's memory yet", "error", err)
	}
}
