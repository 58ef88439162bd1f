package store

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/keyspace"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/purse"
	"github.com/stintdb/stint/internal/testsize"
)

// isAway reports whether the limit of a key has its home in another group.
func isAway(key []byte) bool { return bytes.HasPrefix(key, []byte("away-")) }

// pursesAndLoans makes random batches on purses, on the loans of other limiters, and on several of them at once.
type pursesAndLoans struct {
	r        *rand.Rand
	prepared []preparedPurse
}

type preparedPurse struct {
	key []byte
	purse.Purse
}

var (
	awayLimits = []limits.Limit{bucket(50, 5, sec), {Algorithm: limits.GCRA, Capacity: 4, Rate: limits.Rate{Tokens: 1, Period: sec}}, {Algorithm: limits.FixedWindow, Capacity: 40, Rate: limits.Rate{Period: 20 * sec}}}
	ownLimits  = []limits.Limit{bucket(8, 1, sec), {Algorithm: limits.LeakyBucket, Capacity: 8, Rate: limits.Rate{Tokens: 2, Period: sec}}, {Algorithm: limits.FixedWindow, Capacity: 9, Rate: limits.Rate{Period: 3 * sec}}}
)

func (x *pursesAndLoans) part(now int64) engine.Op {
	i := x.r.IntN(3)
	op := engine.Op{Key: fmt.Appendf(nil, "own-%d", i), Limit: ownLimits[i], Tokens: 1}
	if x.r.IntN(2) == 0 {
		op.Key, op.Limit = fmt.Appendf(nil, "away-%d", i), awayLimits[i]
	}
	if x.r.IntN(3) == 0 {
		op.PriorAt = now - x.r.Int64N(10*sec)
	}
	return op
}

func (x *pursesAndLoans) op(now int64) engine.Op {
	r := x.r
	i := r.IntN(3)
	away, own := fmt.Appendf(nil, "away-%d", i), fmt.Appendf(nil, "own-%d", i)
	kept, _ := awayLimits[i].InPurse()
	switch r.IntN(20) {
	case 0, 1, 2, 3, 4:
		return engine.Op{Verb: engine.Prepare, Key: away, Limit: kept, Options: []engine.Option{0, 0, 0, engine.Cancel, engine.Force}[r.IntN(5)]}
	case 5, 6, 7, 8:
		if len(x.prepared) == 0 {
			break
		}
		p := x.prepared[max(0, len(x.prepared)-1-r.IntN(3))]
		return p.Answered(p.key, r.Int64N(9), []uint64{p.Number, p.Number, p.Previous, 0}[r.IntN(4)])
	case 9:
		return []engine.Op{{Verb: engine.Delete, Key: away}, {Verb: engine.Delete, Key: own}, {Verb: engine.Look, Key: away}, {Verb: engine.Flush}}[r.IntN(4)]
	case 10, 11:
		number := uint64(r.IntN(3))
		return engine.Op{Verb: engine.Lend, Key: own, Limit: ownLimits[i], Tokens: r.Int64N(4), Who: fmt.Append(nil, keyspace.GroupHolder, r.IntN(2)), Loan: &engine.Loan{Number: 1 + (number+1)%3, Previous: number, Left: r.Int64N(2)}}
	case 12:
		number := uint64(r.IntN(3))
		return engine.Op{Verb: engine.Return, Key: own, Who: fmt.Append(nil, keyspace.GroupHolder, r.IntN(2)), Loan: &engine.Loan{Number: number + 1, Previous: number, Left: r.Int64N(2)}}
	case 13:
		return engine.Op{Verb: engine.Carry, Key: own, Limit: ownLimits[i], Tokens: 1 + r.Int64N(2), PriorAt: now - r.Int64N(sec)}
	case 14:
		return engine.Op{Key: own, Limit: ownLimits[i], Tokens: 1 + r.Int64N(3)}
	case 15:
		return engine.Op{Verb: engine.Check, Key: []byte("policy"), Who: fmt.Append(nil, r.IntN(3)), Tokens: 1, Options: engine.FromPurses}
	}
	op := engine.Op{Verb: engine.AcquireAll, Tokens: 1 + r.Int64N(2), Options: engine.FromPurses}
	for range 1 + r.IntN(3) {
		part := x.part(now)
		part.Tokens, part.Options = op.Tokens, op.Options
		op.Parts = append(op.Parts, part)
	}
	return op
}

// entry is a batch that a log has at a time.
type entry struct {
	now    int64
	ops    []engine.Op
	atomic bool
}

func (e *entry) apply(s *Store) []engine.Result {
	results := make([]engine.Result, len(e.ops))
	ops := make([]engine.Op, len(e.ops))
	for i := range ops {
		ops[i] = e.ops[i].Clone()
	}
	if e.atomic {
		s.ApplyAtomic(e.now, ops, results)
	} else {
		s.Apply(e.now, ops, results)
	}
	return results
}

// pursesReplicas are stores that apply the same entries.
type pursesReplicas struct {
	t     *testing.T
	plain *Store // is never swept
	swept *Store // is swept all the time, and tries each request without changes first
	again *Store // is made again of snapshots that are written while entries are applied

	snapshot *Snapshot
	taken    int64   // when
	since    []entry // applied since then
}

func newPursesReplica(shards int) *Store {
	s := New(Config{Shards: shards, Replicated: true, Owns: func(key []byte) bool { return !isAway(key) }, Commands: txSteps{}})
	ask(s, epoch, engine.Op{Verb: engine.SetPolicy, Key: []byte("policy"), Parts: []engine.Op{{Key: []byte("own-{}"), Limit: ownLimits[0]}, {Key: []byte("away-0"), Limit: awayLimits[0]}}})
	return s
}

// apply has all replicas apply an entry, and compares them.
func (x *pursesReplicas) apply(r *rand.Rand, e entry) (results []engine.Result) {
	x.swept.Sweep(e.now, r.IntN(40))
	for i := range e.ops {
		var res engine.Result
		op := e.ops[i].Clone()
		x.swept.TryReadOnly(e.now, &op, &res)
	}
	results = e.apply(x.plain)
	for _, s := range []*Store{x.swept, x.again} {
		for i, got := range e.apply(s) {
			if !sameResult(results[i], got) {
				x.t.Fatalf("%+v is answered\n%+v\n%+v", e.ops[i], shown(results[i]), shown(got))
			}
		}
		x.compare(s, &e)
	}
	x.since = append(x.since, e)
	return results
}

func (x *pursesReplicas) compare(s *Store, e *entry) {
	if x.plain.Digest(e.now) != s.Digest(e.now) || x.plain.PurseCount() != s.PurseCount() || x.plain.AwayPurseCount() != s.AwayPurseCount() {
		x.t.Fatalf("after %+v: %d and %d purses\n%s\n%s", e.ops, x.plain.PurseCount(), s.PurseCount(), dumpText(x.plain, e.now), dumpText(s, e.now))
	}
}

// restart makes a replica of the snapshot, and applies the entries behind it.
func (x *pursesReplicas) restart(e *entry) {
	next := newPursesReplica(4)
	x.snapshot.Scan(x.taken, func(e keyspace.Entry) {
		e.State = bytes.TrimRight(e.State, "\x00")
		if err := next.Load(x.taken, e); err != nil {
			x.t.Fatal(err)
		}
	})
	x.snapshot.Release()
	for i := range x.since {
		x.since[i].apply(next)
	}
	x.again.Close()
	x.again, x.snapshot = next, nil
	x.compare(next, e)
}

// Replicas of a group with purses and loans are the same after the same entries, also if one of them sweeps or starts
// again.
func TestReplicasWithPursesAreEqual(t *testing.T) {
	for seed := range uint64(testsize.Pick(20, 400)) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 29))
			x := pursesReplicas{t: t, plain: newPursesReplica(1), swept: newPursesReplica(16), again: newPursesReplica(4)}
			made, now := pursesAndLoans{r: r}, epoch
			for range 800 {
				if now += r.Int64N(sec / 3); r.IntN(40) == 0 {
					now += 90 * sec
				}
				e := entry{now: now, atomic: r.IntN(4) == 0}
				for range 1 + r.IntN(6) {
					e.ops = append(e.ops, made.op(now))
				}
				for i, res := range x.apply(r, e) {
					if p := purse.Of(&res); e.ops[i].Verb == engine.Prepare && p.Prepared {
						made.prepared = append(made.prepared, preparedPurse{e.ops[i].Key, p})
					}
				}
				switch n := r.IntN(30); {
				case x.snapshot == nil && n == 0:
					x.snapshot, x.since, x.taken = x.again.Snapshot(), nil, now
				case x.snapshot != nil && n < 5:
					x.restart(&e)
				}
			}
			if x.snapshot != nil {
				x.snapshot.Release()
			}
			for _, s := range []*Store{x.plain, x.swept, x.again} {
				s.Close()
			}
		})
	}
}
