// Package allowance has the tokens that the leader takes in its memory, and tells the operations in the log what was
// taken.
package allowance

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/database"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/store"
)

// Allowance is the tokens that the leader takes in its memory: up to [limits.Limit.LeaderAllowance] of each key that
// has no limiter in the log's state. The leader answers such requests under its lease, without an entry.
//
// The tokens of a key are taken either here or in the log's state, never in both. While an operation on a key is under
// way in the log, nothing is taken here, and a Carry in the same entry, before the operation, hands over the tokens
// that were taken. A later leader does not know these tokens. Until all of them would be back, its operations count the
// whole allowance as taken at the beginning of its term.
type Allowance struct {
	taken   *store.Store // the tokens taken from each key; not replicated
	log     *store.Store // the log's state
	applied func() int64 // the time of the last entry applied
	now     func() int64 // the cluster's time, not before the last entry applied

	Term atomic.Pointer[Term] // nil while nothing may have been taken, by this leader or an earlier one

	// order is locked for reading while operations are prepared for the log and queued, and for writing if they change
	// policies. So a check that is queued before the change knows the policies, and a check queued after it knows that
	// they change.
	order    sync.RWMutex
	policies atomic.Int32                                                 // changes of policies under way in the log
	blocking atomic.Int32                                                 // operations under way whose keys are unknown
	slots    [slotCount / slotsOfBlock]atomic.Pointer[[slotsOfBlock]slot] // a block is nil until one of its slots is used
}

// Term is one term of this node as leader.
type Term struct {
	Earlier int64       // when earlier leaders may last have taken the allowance of every key, 0 if they have not
	IsOpen  atomic.Bool // tokens may be taken
}

const (
	// slotCount is the number of locks over the keys. With many, an operation under way seldom blocks another key.
	slotCount = 1 << 14
	// slotsOfBlock is the number of slots that are allocated together.
	slotsOfBlock = 1 << 8
)

// maxBytes bounds the memory of the keys. What does not fit goes through the log.
const maxBytes = 128 << 20

type slot struct {
	mu       sync.Mutex
	underWay int32 // operations on keys of this slot in the log
}

// New returns an allowance for the keys of log, the log's state. applied returns the time of the last entry applied,
// and now the cluster's time.
func New(log *store.Store, applied, now func() int64) *Allowance {
	return &Allowance{applied: applied, now: now, taken: log.Beside(store.Config{MaxBytes: maxBytes}), log: log}
}

// newTerm begins a term at the cluster's time now. used says that an earlier leader may have taken tokens.
func (s *Allowance) newTerm(now int64, used bool) *Term {
	t := &Term{}
	if used {
		t.Earlier = now
	}
	s.forget(now, engine.Op{Verb: engine.Flush})
	return t
}

// priorAt is the PriorAt of operations on a key from which nothing is taken here.
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
		return s.isOpen(t, slot, op) &&
			s.log.TakeAllowance(s.taken, hash, s.logTime(now, op), now, t.priorAt(now), op, res)
	case engine.AcquireAll:
		return s.TakeAll(t, now, op, op.Parts, 0, res) == 0
	case engine.Check:
		return s.log.CheckBy(op, res, func(parts []engine.Op) bool { return s.TakeAll(t, now, op, parts, 0, res) == 0 })
	}
	return false
}

// Has reports whether tokens of a key are taken here.
func (s *Allowance) Has(now int64, key []byte) bool { return !s.taken.IsNew(now, key) }

// Hides reports whether the log's state does not know of tokens that were taken of a key of an operation: here, or, if
// the operation would count them in the log, perhaps by an earlier leader. It is asked before the log's state is read: what
// is handed over meanwhile is found there. The keys that a script does not declare are not known.
func (s *Allowance) Hides(t *Term, now int64, op *engine.Op) (hides bool) {
	counts := false
	switch op.Request().Verb {
	case engine.Acquire, engine.AcquireAll, engine.Check, engine.Lend, engine.Extend, engine.Settle:
		counts = t.priorAt(now) != 0
	}
	s.keysOf(op, func(key []byte) { hides = hides || s.log.IsNew(now, key) && (counts || s.Has(now, key)) })
	return hides
}

// keysOf calls visit with the keys whose limiters an operation reads or changes, by the policies and reservations of the
// log's state.
func (s *Allowance) keysOf(op *engine.Op, visit func(key []byte)) {
	switch op.Verb {
	case engine.AcquireAll, engine.Check, engine.Extend, engine.Settle:
		s.log.LimitKeys(op, visit)
	case engine.Reserve:
		s.keysOf(&op.Parts[0], visit)
	case engine.Script, engine.Command, engine.Expect:
		for _, key := range op.DeclaredKeys() {
			visit(new(database.Room).NameOf(op.Database, key))
		}
	case engine.Flush, engine.SetPolicy, engine.DropPolicy, engine.SetOverride, engine.Restrict, engine.KeepOverflow, engine.KeepScript, engine.DropScripts:
	default:
		visit(op.Key)
	}
}

func (s *Allowance) apply(now int64, op *engine.Op, res *engine.Result) {
	ops, results := [1]engine.Op{*op}, [1]engine.Result{*res}
	s.taken.Apply(now, ops[:], results[:])
	*res = results[0]
}

// TakeAll answers a request for several limits from memory, all or nothing. The tokens of the parts in held are taken
// elsewhere, if nothing is missing here. It returns the parts for which there are too few tokens here; then res has no
// meaning.
func (s *Allowance) TakeAll(
	t *Term, now int64, op *engine.Op, parts []engine.Op, held engine.PartSet, res *engine.Result,
) (missing engine.PartSet) {
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
		part := &parts[i]
		if held.Has(i) {
			continue
		}
		if !s.isOpen(t, s.slot(s.slotOf(part.Key)), part) || !s.log.AdmitsNew(s.logTime(now, part), part.Key) {
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

// logTime is the time at which a limiter in the log's state must have expired. A window must have ended by the time of
// the last entry: a later leader's clock may begin there, and would count in it again.
func (s *Allowance) logTime(now int64, op *engine.Op) int64 {
	if op.Limit.Algorithm == limits.FixedWindow {
		return s.applied()
	}
	return now
}

// Sweep drops keys whose tokens are all back. It is slow on purpose: a key that is asked again then needs no new
// record.
func (s *Allowance) Sweep() { s.taken.Sweep(s.now(), s.taken.Len()/128+64) }
