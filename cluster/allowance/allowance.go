// Package allowance is the tokens that the leader takes in its memory, and how operations through the log learn of them.
package allowance

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/store"
)

// Allowance is the tokens that the leader takes in its memory: of each key without a limiter in the log's state, up to
// [limits.Limit.LeaderAllowance]. They are answered under the lease, without an entry.
//
// Tokens of a key are taken either here or in the log's state, never in both. While an operation on a key is on its way through
// the log, nothing is taken here, and a Carry before the operation, in the same entry, hands over the tokens taken. A later leader does not know
// them: until all would be back, its operations count the whole allowance as taken when its term began.
type Allowance struct {
	taken   *store.Store // the tokens taken of each key; not replicated
	log     *store.Store // the log's state
	applied func() int64 // the time of the last entry applied
	now     func() int64 // the cluster's time, not before that of the log's state

	Term atomic.Pointer[Term] // nil while nothing may have been taken, by this leader or an earlier one

	// order is held to read while operations are prepared for the log and queued, and to write for those that change policies:
	// so a check queued before knows the policies, and one queued behind knows that they change.
	order    sync.RWMutex
	policies atomic.Int32                                                 // changes of policies on their way
	blocking atomic.Int32                                                 // operations on their way whose keys are not known
	slots    [slotCount / slotsOfBlock]atomic.Pointer[[slotsOfBlock]slot] // a block is nil until one of its slots is used
}

// Term is one term of this node as leader.
type Term struct {
	Earlier int64       // when earlier leaders may have taken the allowance of every key, 0 if they have not
	IsOpen  atomic.Bool // tokens may be taken
}

const (
	// slotCount is the number of locks over the keys. With many, an operation on its way seldom blocks another key.
	slotCount = 1 << 14
	// slotsOfBlock is the number of slots that are allocated together.
	slotsOfBlock = 1 << 8
)

// maxBytes bounds the memory of the keys. What does not fit goes through the log.
const maxBytes = 128 << 20

type slot struct {
	mu       sync.Mutex
	underWay int32 // operations on keys of this slot that are on their way through the log
}

// New returns an allowance of the keys of log, the state of the log. applied and now are the times of the last entry applied, and of the cluster.
func New(log *store.Store, applied, now func() int64) *Allowance {
	return &Allowance{applied: applied, now: now, taken: log.Beside(store.Config{MaxBytes: maxBytes}), log: log}
}

// newTerm is a term that begins at the cluster's time now. used says that an earlier leader may have taken tokens.
func (s *Allowance) newTerm(now int64, used bool) *Term {
	t := &Term{}
	if used {
		t.Earlier = now
	}
	s.forget(now, engine.Op{Verb: engine.Flush})
	return t
}

// priorAt is the PriorAt of a key of which nothing is taken here.
func (t *Term) priorAt(now int64) int64 {
	if t.Earlier == 0 || now-t.Earlier >= int64(limits.MaxAllowanceTime) {
		return 0
	}
	return t.Earlier
}

func slotOf(hash uint64) uint16 { return uint16(hash>>16) % slotCount }

func (s *Allowance) slotOf(key []byte) uint16 { return slotOf(s.log.Hash(key)) }

// slot returns the slot with a number, and allocates its block if it is the first one used there.
func (s *Allowance) slot(number uint16) *slot {
	block := &s.slots[number/slotsOfBlock]
	for {
		if b := block.Load(); b != nil {
			return &b[number%slotsOfBlock]
		}
		block.CompareAndSwap(nil, new([slotsOfBlock]slot))
	}
}

// Decide answers an operation from memory, or returns false; then res has no meaning.
func (s *Allowance) Decide(t *Term, now int64, op *engine.Op, res *engine.Result) (done bool) {
	if s.log.IsStrict(op) {
		return false
	}
	switch op.Verb {
	case engine.Look, engine.ListWindows:
		if !s.log.IsNew(now, op.Key) || !s.Has(now, op.Key) {
			return false
		}
		s.apply(now, op, res)
		return true
	case engine.Delete, engine.Refund: // while tokens are being handed over, the log has them
		slot := s.slot(s.slotOf(op.Key))
		slot.mu.Lock()
		defer slot.mu.Unlock()
		if !s.isOpen(t, slot, op) || !s.log.IsNew(now, op.Key) || !s.Has(now, op.Key) {
			return false
		}
		s.apply(now, op, res)
		return true
	case engine.Acquire:
		hash := s.log.Hash(op.Key)
		slot := s.slot(slotOf(hash))
		slot.mu.Lock()
		defer slot.mu.Unlock()
		return s.isOpen(t, slot, op) && s.log.TakeAllowance(s.taken, hash, s.logTime(now, op), now, t.priorAt(now), op, res)
	case engine.AcquireAll:
		return s.TakeAll(t, now, op, op.Parts, 0, res) == 0
	case engine.Check:
		return s.log.CheckBy(op, res, func(parts []engine.Op) bool { return s.TakeAll(t, now, op, parts, 0, res) == 0 })
	}
	return false
}

// Has reports whether tokens of a key are taken here.
func (s *Allowance) Has(now int64, key []byte) bool {
	_, found := s.taken.Taken(now, key)
	return found
}

func (s *Allowance) apply(now int64, op *engine.Op, res *engine.Result) {
	ops, results := [1]engine.Op{*op}, [1]engine.Result{*res}
	s.taken.Apply(now, ops[:], results[:])
	*res = results[0]
}

// TakeAll answers a request for several limits from memory, all or nothing, but for the parts in held: their tokens are taken elsewhere if nothing
// is missing. It returns parts of which there is too little here, and then res has no meaning.
func (s *Allowance) TakeAll(t *Term, now int64, op *engine.Op, parts []engine.Op, held engine.PartSet, res *engine.Result) (missing engine.PartSet) {
	var room [engine.MaxParts]uint16
	numbers := room[:0]
	for i := range parts {
		switch {
		case held.Has(i):
		case parts[i].Limit.LeaderAllowance() == 0:
			missing.Add(i)
		default:
			numbers = append(numbers, s.slotOf(parts[i].Key))
		}
	}
	if missing != 0 {
		return missing
	}
	slices.Sort(numbers)
	numbers = slices.Compact(numbers)
	for _, n := range numbers {
		slot := s.slot(n)
		slot.mu.Lock()
		defer slot.mu.Unlock()
	}
	for i := range parts {
		if !held.Has(i) && (!s.isOpen(t, s.slot(s.slotOf(parts[i].Key)), &parts[i]) || !s.log.AdmitsNew(s.logTime(now, &parts[i]), parts[i].Key)) {
			missing.Add(i)
		}
	}
	if missing != 0 {
		return missing
	}
	return s.taken.TakeAllowances(now, t.priorAt(now), op, parts, held, res)
}

// isOpen reports whether tokens of the keys of a slot, which is locked, may be taken here.
func (s *Allowance) isOpen(t *Term, slot *slot, op *engine.Op) bool {
	return (t.IsOpen.Load() || op.Options&engine.Peek != 0) && slot.underWay == 0 && s.blocking.Load() == 0
}

// logTime is the time at which a limiter in the log's state must have expired. A window must have ended by the time of the last
// entry: a later leader's clock may begin there, and would count in it again.
func (s *Allowance) logTime(now int64, op *engine.Op) int64 {
	if op.Limit.Algorithm == limits.FixedWindow {
		return s.applied()
	}
	return now
}

// Sweep drops keys whose tokens are all back, slowly: a key that is asked again needs no new record.
func (s *Allowance) Sweep() { s.taken.Sweep(s.now(), s.taken.Len()/128+64) }
