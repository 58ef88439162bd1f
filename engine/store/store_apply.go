package store

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/algorithm"
)

// Apply carries out ops in order and answers ops[i] in results[i], each atomically. They are decided at now, in
// nanoseconds since the Unix epoch, or at the later time of an operation that came first: see
// [keyspace.Keyspace.Instant].
func (s *Store) Apply(now int64, ops []engine.Op, results []engine.Result) {
	s.apply(now, ops, results, false)
	if s.trace != nil {
		s.trace(now, ops, results)
	}
}

// ApplyAtomic is Apply with every shard the ops touch locked throughout, so that nothing comes between them. An Expect
// at the front decides whether any of them is carried out.
func (s *Store) ApplyAtomic(now int64, ops []engine.Op, results []engine.Result) {
	if engine.AnyChangesPolicies(ops) {
		s.changesPolicies.Lock()
		defer s.changesPolicies.Unlock()
	}
	shards := s.keys.Lock(s.shardsOf(ops))
	defer s.keys.Unlock(shards)
	now = s.keys.Instant(shards, now, true)
	if len(ops) > 0 && ops[0].Verb == engine.Expect {
		s.applyExpected(now, ops, results)
		return
	}
	s.apply(now, ops, results, true)
	if s.trace != nil {
		s.trace(now, ops, results)
	}
}

// shardsOf lists the shards that ops touch, some perhaps twice; all of them where that shows only later.
func (s *Store) shardsOf(ops []engine.Op) (numbers []uint32) {
	add := func(key []byte) {
		sh, _ := s.keys.Locate(key)
		numbers = append(numbers, sh.Number)
	}
	for i := range ops {
		switch ops[i].Verb {
		case engine.Flush, engine.Check, engine.Script, engine.Reserve, engine.Extend, engine.Settle:
			return s.keys.AppendAllShards(numbers[:0])
		case engine.AcquireAll:
			for j := range ops[i].Parts {
				add(ops[i].Parts[j].Key)
			}
		case engine.Command:
			numbers = s.transactions.AppendShards(numbers, &ops[i])
		case engine.Expect:
			for _, name := range ops[i].DeclaredKeys() {
				add(name)
			}
		default:
			add(ops[i].Key)
		}
	}
	return numbers
}

func (s *Store) apply(now int64, ops []engine.Op, results []engine.Result, locked bool) {
	c := s.keys.Calls.Get().(*algorithm.Call)
	defer s.keys.Calls.Put(c)
	c.Listed = 0
	for i := 0; i < len(ops); i++ {
		op, res := &ops[i], &results[i]
		if !op.Verb.HasOneKey() {
			n := s.requests.ApplyTogether(now, ops[i:], results[i:], locked)
			if n == 0 && !locked {
				n = s.transactions.RunGroup(now, ops[i:], results[i:])
			}
			if n > 0 {
				i += n - 1
				continue
			}
			s.applyWide(now, op, res, locked)
			continue
		}
		if !locked && i+1 < len(ops) {
			if n := s.keys.ApplyGroup(c, now, ops[i:], results[i:]); n > 0 {
				i += n - 1
				continue
			}
		}
		sh, tag := s.keys.Locate(op.Key)
		if locked {
			sh.Apply(c, now, tag, op, res)
			continue
		}
		sh.Lock()
		sh.Apply(c, now, tag, op, res)
		sh.Unlock()
	}
}

func (s *Store) applyWide(now int64, op *engine.Op, res *engine.Result, locked bool) {
	switch op.Verb {
	case engine.AcquireAll, engine.Check, engine.Reserve, engine.Extend, engine.Settle:
		s.requests.Apply(now, op, res, locked, false)
		return
	case engine.Command, engine.Script:
		s.transactions.Run(now, op, res, locked, false)
		return
	case engine.Expect:
		s.applyExpect(now, op, res, locked)
		return
	}
	res.Clear()
	if op.Verb.ChangesPolicies() && !locked {
		s.changesPolicies.Lock()
		defer s.changesPolicies.Unlock()
	}
	switch op.Verb {
	case engine.Flush:
		if op.Options&engine.OneDatabase != 0 {
			s.keys.FlushDatabase(now, op.Database, locked)
			return
		}
		s.keys.Flush(now, locked)
	case engine.SetPolicy:
		s.policies.Set(op, res)
	case engine.DropPolicy:
		s.policies.Drop(op, res)
	case engine.SetOverride:
		s.policies.Override(op, res)
	case engine.Restrict:
		s.keys.Admission.Restrict(op, res)
	case engine.KeepScript, engine.DropScripts:
		if s.scripts.Apply(op, res) {
			s.policies.NoteOther(op)
		}
	case engine.KeepOverflow:
		s.keys.Admission.Shared.Load(now, op, res)
	}
}

// Clear empties the store, its policies included, as if it were new. Nothing is noted as changed. It is for replacing
// the state by another's and must not be called while operations are applied.
func (s *Store) Clear() {
	s.keys.Clear()
	s.scripts.Clear()
	s.policies.Clear()
	s.transactions.Clear()
	if s.trace != nil {
		s.trace(0, nil, nil)
	}
}
