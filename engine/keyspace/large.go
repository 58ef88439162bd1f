package keyspace

import (
	"math"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/large"
	"github.com/stintdb/stint/engine/largevalues"
	"github.com/stintdb/stint/engine/limits"
)

// LargeValues returns the values in blocks of a shard.
func LargeValues(s *Shard) *largevalues.Values { return largeOf(&s.table) }

func largeOf(t *table) *largevalues.Values {
	if t.large == nil {
		t.large = largevalues.New(pages{t.mem})
	}
	return t.large
}

// MayHaveLarge reports whether there may be values in blocks. Without any, it costs next to nothing to ask.
func MayHaveLarge(s *Keyspace) bool { return s.memory.large.Any() }

// HasLarge reports whether a shard may have values in blocks.
func HasLarge(s *Shard) bool { return s.large != nil }

// IsInBlocks reports whether a state of a shard is the head of a value in blocks.
func IsInBlocks(s *Shard, limit *limits.Limit, state []byte) bool { return s.large.Owns(limit, state) }

// Whole returns an entry whose state does not depend on other memory.
func (e Entry) Whole() Entry {
	if e.large.Owns(&e.Limit, e.State) {
		e.State = e.large.Whole(&e.Limit, e.State)
	}
	return e
}

// wholeRecord is a record whose state does not depend on other memory.
func wholeRecord(l *largevalues.Values, t *table, r record) record {
	limit, state := t.stateOf(r)
	if !l.Owns(limit, state) {
		return r[:t.size(r)]
	}
	head := r[:len(r)-len(r.rest())]
	return append(append(record(nil), head...), l.Whole(limit, state)...)
}

// ReserveBlocks makes room for blocks of some bytes.
func ReserveBlocks(s *Shard, now int64, bytes int, newKey bool) bool {
	if s.mem.allows(int64(bytes), newKey) {
		return true
	}
	if now >= s.stuckUntil || s.stuckUntil-now > fullRetry {
		s.stuckUntil = now + fullRetry
		s.sweep(0, math.MaxInt, now)
	}
	return s.mem.allows(int64(bytes), newKey)
}

// noteLongest notes the bytes of the longest element of a value in blocks, which is counted.
func noteLongest(s *Shard, limit *limits.Limit, head []byte) {
	_, longest := largevalues.FlatSize(limit, head)
	s.mem.large.NoteLongest(s.Number, longest)
}

// writeBlocks makes the changes in the blocks of an update, and leaves the head of the value to be written.
func writeBlocks(s *Shard, p *Update, version uint64, res *engine.Result) {
	l := LargeValues(s)
	var head large.Head
	if p.Build {
		res.Work += len(p.Data)/WorkBytes + large.BuildWork(p.Kind, p.Data)
		head = l.Build(p.Kind, p.Data, version)
		s.mem.large.Add(s.Number, 1)
	} else {
		head = l.Keep(p.Key, p.Large)
	}
	s.mem.large.NoteLongest(s.Number, int(head.Longest))
	p.Data, p.InBlocks = head.Append(p.Data[:0]), true
}

// ForgetJournaled is to be called when the journal may have lost changes: it takes whole values from then on.
func ForgetJournaled(s *Keyspace) {
	s.each(func(sh *Shard) {
		if sh.large == nil {
			return
		}
		sh.large.Forget()
		sh.table.each(func(r record) {
			if limit, state := sh.stateOf(r); largevalues.IsHead(limit, state) {
				largevalues.ClearJournaled(state)
			}
		})
	})
}
