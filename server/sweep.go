package server

import (
	"github.com/stintdb/stint/engine/admission"
	"github.com/stintdb/stint/server/localstore"
	"github.com/stintdb/stint/server/memlimit"
)

const (
	// A round of the sweep looks at minSweep keys at least and maxSweep at most.
	minSweep = 2_000
	maxSweep = 500_000

	fastSweepRounds = 50    // a sweep of all keys takes at least this many rounds, which are 5 s,
	slowSweepRounds = 3_000 // and this many, five minutes, while fewer than 1/expiredShare of them have expired
	expiredShare    = 10
)

// sweepPace is the number of keys that a round of the sweep looks at. To look at a key costs a fifth of a decision, and
// with millions of keys hardly any may have expired: so the sweep slows down while it finds few, and hurries when it
// finds many.
type sweepPace struct{ keys int }

// next returns the number for the next round. Where room for keys is scarce, an expired key may keep a new one out, so
// the sweep is as fast as it may be.
func (p *sweepPace) next(keys int, isScarce bool) int {
	most := min(max(keys/fastSweepRounds, minSweep), maxSweep)
	least := min(max(keys/slowSweepRounds, minSweep), most)
	if isScarce {
		least = most
	}
	p.keys = min(max(p.keys, least), most)
	return p.keys
}

// note takes the result of a round.
func (p *sweepPace) note(looked, dropped int) {
	if dropped*expiredShare >= looked {
		p.keys *= 2
	} else {
		p.keys /= 2
	}
}

// sweeper drops expired keys of a store.
type sweeper struct {
	keys   localstore.Store
	memory *memlimit.Limiter
	pace   sweepPace
}

// sweep drops expired keys, and returns their number.
func (s *sweeper) sweep(now int64) (dropped int) {
	looked, dropped := s.keys.Sweep(now, s.pace.next(s.keys.Len(), s.isRoomScarce()))
	s.pace.note(looked, dropped)
	return dropped
}

// isRoomScarce reports whether keys take more than half of their memory, or users have quotas of keys.
func (s *sweeper) isRoomScarce() (scarce bool) {
	s.keys.QuotaCounts(func(admission.Quota, int64) { scarce = true })
	return scarce || s.keys.Bytes() > s.memory.MaxKeyBytes()/2
}
