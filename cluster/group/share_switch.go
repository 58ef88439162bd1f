package group

import (
	"context"
	"time"

	"github.com/stintdb/stint/cluster/clock"
	"github.com/stintdb/stint/cluster/fsm"
	"github.com/stintdb/stint/cluster/oncelog"
	"github.com/stintdb/stint/cluster/share"
	"github.com/stintdb/stint/engine/limits"
)

// shareSwitch opens and closes the share of a node while it leads.
type shareSwitch struct {
	opt     *Config
	clock   *clock.Clock
	fsm     *fsm.Machine
	formats *versionGate
	role    *leaderRole
	share   *share.Share
	log     *oncelog.Log
}

// shareEvery is the time between two looks at the setting, and between two sweeps.
const shareEvery = 100 * time.Millisecond

// run follows the setting. That leaders may take tokens stands in the log before the first is taken, and until all are back after
// the last.
func (w *shareSwitch) run(ctx context.Context) {
	var closed time.Duration // since when nothing is taken in this term
	var term *share.Term
	clock.Every(ctx, shareEvery, func() {
		r := w.role.active()
		if r == nil {
			return
		}
		wanted, used, t := w.opt.Share(), w.fsm.Cluster.Load().Share, w.share.Term.Load()
		if wanted || t != term {
			closed, term = w.clock.Mono(), t
		}
		switch {
		case wanted && t == nil:
			w.share.StartTerm(used)
		case wanted && !used:
			w.record(ctx, true)
		case t == nil:
		case !wanted && used && w.clock.Mono()-closed > 2*limits.MaxAllowanceTime:
			w.record(ctx, false)
		case !wanted && !used:
			w.share.Term.CompareAndSwap(t, nil)
		default:
			t.IsOpen.Store(wanted && used)
		}
		w.share.Sweep()
	})
}

// record writes into the log whether leaders may take tokens.
func (w *shareSwitch) record(ctx context.Context, share bool) {
	if err := w.formats.propose(ctx, fsm.KindShare, fsm.ShareBody{Share: share}); err != nil {
		w.log.Once("share", "cannot switch decisions in the leader's memory yet", "error", err)
	}
}
