package store

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/algorithm"
	"github.com/stintdb/stint/engine/database"
	"github.com/stintdb/stint/engine/keyspace"
	"github.com/stintdb/stint/engine/large"
	"github.com/stintdb/stint/engine/largevalues"
	"github.com/stintdb/stint/engine/layout"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/transaction"
)

const (
	// OpWork is the fixed cost of an operation, in units of [engine.Result.Work].
	OpWork = 20
	// flushWork is the work of removing one key, where others stay.
	flushWork = 40
	// MaxHolderWork is the most that looking through the holders of one key takes.
	MaxHolderWork = limits.MaxHolders + OpWork
	// MaxLogWork is the most that keeping a request in a sliding log of the default bound takes: the log may have to be
	// copied.
	MaxLogWork = 100_000*16/keyspace.WorkBytes + OpWork
)

// Weigh returns about the work that operations would take now, at most, one after the other. It looks each key up, and
// no further.
func (s *Store) Weigh(ops []engine.Op) (work int) {
	var after sizes
	if len(ops) > 1 {
		after = sizes{}
		s.requests.LookAhead(ops)
	}
	more := 0 // leases that operations before may have added
	for i := range ops {
		op, limits := ops[i].Request(), ops[i:i+1]
		if op != &ops[i] {
			work += OpWork // of the reservation
			limits = ops[i].Parts
		}
		switch op.Verb {
		case engine.AcquireAll, engine.Check:
			limits = s.Asked(op)
		case engine.Extend, engine.Settle:
			s.LimitKeys(op, func(key []byte) { work += s.weigh(&engine.Op{Key: key}, &more) })
		case engine.Command, engine.Script:
			work += s.transactions.Weigh(op, after.held(s, op))
			if after != nil {
				after.grow(s, op)
			}
			continue
		case engine.Expect:
			for _, key := range op.DeclaredKeys() {
				work += s.weigh(&engine.Op{Verb: engine.Fingerprint, Key: key}, &more)
			}
			continue
		case engine.Flush:
			work += OpWork
			if op.Options&engine.OneDatabase != 0 && s.keys.LastDatabase() > 0 {
				work += s.keys.Len() * flushWork
			}
			continue
		case engine.SetPolicy, engine.DropPolicy, engine.SetOverride, engine.Restrict, engine.KeepOverflow, engine.KeepScript, engine.DropScripts:
			work += OpWork
			continue
		}
		for j := range limits {
			work += s.weigh(&limits[j], &more)
		}
	}
	return work
}

func (s *Store) weigh(op *engine.Op, more *int) int {
	if op.Verb == engine.Acquire && op.Limit.Algorithm == limits.Concurrency {
		*more++
	}
	sh, tag := s.keys.Locate(op.Key)
	sh.Lock()
	defer sh.Unlock()
	p := sh.Find(tag, op.Key)
	if !p.Found {
		return OpWork + *more
	}
	limit, state := sh.StateAt(p)
	size := sh.SizeAt(p)
	if op.Verb == engine.Fingerprint {
		return OpWork + keyspace.FingerprintWork(size)
	}
	switch limit.Algorithm {
	case limits.Concurrency:
		return OpWork + min(layout.Leases(state).Used()/layout.LeaseHead+*more, limits.MaxHolders)
	case limits.FairShare:
		return OpWork + size/keyspace.WorkBytes + layout.SharePool(state).Active()
	case limits.Class:
		return OpWork + size/keyspace.WorkBytes + algorithm.ClassState(state).Children()
	case limits.HistoryFixedWindow, limits.Balance, limits.LentGCRA, limits.LentTokenBucket, limits.LentLeakyBucket, limits.LentFixedWindow:
		return OpWork + size/keyspace.WorkBytes
	case limits.SlidingLog:
		if op.Verb == engine.ListLog {
			return OpWork + min(size/engine.LogEntry, int(op.Tokens))
		}
		return OpWork + size/keyspace.WorkBytes
	}
	return OpWork
}

// sizes are the most bytes that keys may hold after operations before; of other keys, the bytes in the store count.
type sizes map[string]transaction.Held

func (z sizes) of(s *Store, name []byte) transaction.Held {
	if n, found := z[string(name)]; found {
		return n
	}
	return heldBy(&s.keys, name)
}

// held returns the most bytes that the declared keys of an operation on data hold.
func (z sizes) held(s *Store, op *engine.Op) (all transaction.Held) {
	if op.Verb == engine.Script {
		return all
	}
	var names database.Room
	for _, key := range op.DeclaredKeys() {
		one := z.of(s, names.NameOf(op.Database, key))
		all.Bytes += one.Bytes
		all.Longest = max(all.Longest, one.Longest)
	}
	return all
}

// grow notes what an operation on data may leave in its keys: with its arguments, all that the others held in the
// first, and what the first held in the second.
func (z sizes) grow(s *Store, op *engine.Op) {
	keys := op.DeclaredKeys()
	if op.Verb == engine.Script || op.Options&engine.Peek != 0 || len(keys) == 0 {
		return
	}
	var names database.Room
	of := func(key []byte) transaction.Held { return z.of(s, names.NameOf(op.Database, key)) }
	first, others, more, longest := of(keys[0]), 0, 0, 0
	for _, key := range keys {
		longest = max(longest, of(key).Longest)
	}
	for _, key := range keys[1:] {
		others += of(key).Bytes
	}
	for _, arg := range op.Args[op.KeyFrom+op.KeyCount:] {
		more += len(arg) + StringHead
		longest = max(longest, 2*len(arg)) // a field and its value, of this length at most
	}
	if len(keys) > 1 {
		z[string(names.NameOf(op.Database, keys[1]))] = transaction.Held{Bytes: max(first.Bytes, of(keys[1]).Bytes), Longest: longest}
	}
	z[string(names.NameOf(op.Database, keys[0]))] = transaction.Held{Bytes: min(max(first.Bytes, others)+more, large.MaxBytes), Longest: longest}
}

// StringHead is the most bytes that an argument takes in a value of data beside its own.
const StringHead = 8

// heldBy is the size of a key's state, of a value in blocks as flat bytes.
func heldBy(keys *keyspace.Keyspace, key []byte) (h transaction.Held) {
	sh, tag := keys.Locate(key)
	sh.Lock()
	defer sh.Unlock()
	p := sh.Find(tag, key)
	if p.Found {
		h.Bytes, h.Longest = largevalues.FlatSize(sh.StateAt(p))
	}
	return h
}
