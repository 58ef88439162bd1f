// Package shared has limits that requests in several groups of a cluster have in common. A request for several limits is one operation in the log of
// one group. Its limits whose keys are of another group, their home, are asked there in purses, whose tokens home has lent to the asking group. The
// package has such requests decided, lends tokens for those that find too few, and returns what nobody uses.
package shared

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/purse"
	"github.com/stintdb/stint/internal/clusterstatus"
)

// Router has batches decided by groups.
type Router interface {
	Decide(b *engine.Batch) (finished bool)
	DecideIn(at int, b *engine.Batch) (finished bool)
	Gather(parts []engine.Op) (at int, ok bool)
	Home(name []byte) (at int)
}

// Policies are those that this node knows, which may be behind.
type Policies interface {
	Asked(op *engine.Op) []engine.Op
}

// Replica is the replica of a group on this node.
type Replica struct {
	Number int
	Leads  func() bool  // only then it returns tokens that nobody uses
	Now    func() int64 // of the group's decisions
	Store  Store
}

// Store is the part of a group's store that has its purses and loans.
type Store interface {
	AwayPurseCount() int64
	Purses(visit func(key []byte, limit limits.Limit, p purse.Purse))
	LentKeys() int64
	Shards() int
	ScanLoans(shard int, visit func(key, holder []byte, tokens int64))
}

// Options configure Limits.
type Options struct {
	Router   Router
	Policies Policies
	Timeout  time.Duration    // the longest wait for tokens
	Replicas func() []Replica // here; nil while there are none
}

// Times and bounds.
const (
	ahead       = 400 * time.Millisecond // the time whose demand is held
	idleAfter   = 500 * time.Millisecond // unused tokens are returned
	emptyAfter  = 2 * time.Second        // a purse ends that home has lent nothing
	tidyEvery   = 100 * time.Millisecond
	voidEvery   = 5 * time.Second        // loans without purses are looked for
	denyFor     = 100 * time.Millisecond // a denial of home is repeated, unless its wait is shorter
	forgetAfter = 10 * time.Second       // a key without requests
	measureOver = 50 * time.Millisecond  // demand is measured

	maxKeys      = purse.Max // whose demand is known
	maxWaiters   = 4096      // requests that wait for tokens of a key
	maxExchanges = 256       // operations on loans at a time, in each group
	maxIdle      = 1024      // purses of a group whose tokens are returned in one round
	maxTries     = 16        // of a request, whose tokens others may take
	decideAtOnce = 512       // requests that have waited
)

// Limits has requests decided whose limits are of several groups, and hands on all others.
type Limits struct {
	opt Options
	ctx context.Context

	mu    sync.Mutex
	keys  map[purseID]*key
	slots map[int]chan struct{} // by the number of a group

	ending sync.Mutex // of ended
	ended  bool
	work   sync.WaitGroup

	counts counts
}

// counts are those of [clusterstatus.SharedLimits].
type counts struct{ requests, short, denied, lent, returned atomic.Int64 }

// Counts are those of this process, since it began.
func (l *Limits) Counts() clusterstatus.SharedLimits {
	c := &l.counts
	return clusterstatus.SharedLimits{Requests: c.requests.Load(), Short: c.short.Load(), Denied: c.denied.Load(), Lent: c.lent.Load(), Returned: c.returned.Load()}
}

// New returns limits that are served until Close.
func New(ctx context.Context, o Options) *Limits {
	l := &Limits{opt: o, ctx: ctx, keys: map[purseID]*key{}, slots: map[int]chan struct{}{}}
	l.work.Go(l.tidy)
	return l
}

// Close waits until nothing is under way. The context of New has ended.
func (l *Limits) Close() {
	l.ending.Lock()
	l.ended = true
	l.ending.Unlock()
	l.work.Wait()
}

// begin calls f in a goroutine, or returns false at the end.
func (l *Limits) begin(f func()) bool {
	l.ending.Lock()
	defer l.ending.Unlock()
	if l.ended || l.ctx.Err() != nil {
		return false
	}
	l.work.Go(f)
	return true
}

// Decide has a batch decided. Requests that wait for tokens may come behind later ones of the batch.
func (l *Limits) Decide(b *engine.Batch) (finished bool) {
	if b.Atomic && len(b.Ops) > 1 || !slices.ContainsFunc(b.Ops, asksSeveral) {
		return l.opt.Router.Decide(b)
	}
	s := &batch{limits: l, whole: b}
	ops := slices.Clone(b.Ops)
	until := time.Now().Add(l.opt.Timeout)
	for i := range ops {
		if !asksSeveral(ops[i]) {
			continue
		}
		r := request{res: &b.Results[i], until: until, done: s.close}
		if r.gather(l, &ops[i]); r.at > 0 || ops[i].Verb == engine.Check {
			ops[i] = r.op
			s.requests = append(s.requests, r)
		}
	}
	if len(s.requests) == 0 {
		return l.opt.Router.Decide(b)
	}
	s.open.Store(1)
	all := &engine.Batch{Ops: ops, Results: b.Results, Atomic: b.Atomic, Local: b.Local, InOrder: b.InOrder}
	all.Done = func() {
		b.Worked += all.Worked
		s.settle()
		s.close()
	}
	if !l.opt.Router.Decide(all) {
		return false
	}
	s.settle()
	return s.open.Add(-1) == 0
}

// asksSeveral reports whether an operation asks several limits at once.
func asksSeveral(op engine.Op) bool { return op.Verb == engine.AcquireAll || op.Verb == engine.Check }

// batch is a batch with requests that may have to wait.
type batch struct {
	limits   *Limits
	whole    *engine.Batch
	requests []request
	open     atomic.Int32 // requests without a result, and one for the batch itself
}

func (s *batch) settle() {
	for i := range s.requests {
		s.open.Add(1)
		if s.limits.settle(&s.requests[i]) {
			s.open.Add(-1)
		}
	}
}

// close ends one of the open requests, and with the last the batch.
func (s *batch) close() {
	if s.open.Add(-1) == 0 {
		s.whole.Done()
	}
}
