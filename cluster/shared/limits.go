// Package shared decides requests under limits that several groups of a cluster share.
//
// A request for several limits is one operation in the log of one group. The key of a limit may belong to another
// group, its home: the request then takes that limit's tokens from a purse, which home has lent the deciding group.
// [Limits] finds the group, decides the request there, and lets it wait if a purse has too few tokens. Package loans
// borrows and returns the tokens.
package shared

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/internal/clusterstatus"
	"github.com/stintdb/stint/internal/loans"
)

// Router decides batches by groups.
type Router interface {
	Decide(b *engine.Batch) (finished bool)
	DecideIn(at int, b *engine.Batch) (finished bool)
	Gather(parts []engine.Op) (at int, ok bool)
	Home(name []byte) (at int)
}

// Policies returns the limits that an operation asks for under the policies known here, which may be out of date.
type Policies interface {
	Asked(op *engine.Op) []engine.Op
}

// Replica is the replica of a group on this node.
type Replica = loans.Replica

// Options configure Limits.
type Options struct {
	Router   Router
	Policies Policies
	Timeout  time.Duration    // the longest wait for tokens
	Replicas func() []Replica // on this node; nil while there are none
}

// Times and bounds. Home is near, so little is held and it goes back soon.
const (
	ahead      = 400 * time.Millisecond
	idleAfter  = 500 * time.Millisecond
	emptyAfter = 2 * time.Second
	tidyEvery  = 100 * time.Millisecond
	voidEvery  = 5 * time.Second // loans without purses are looked for

	maxIdle = 1024 // purses whose tokens are returned in one round, and lost loans that are voided in one
)

// Limits decides requests whose limits are of several groups, and hands on all others.
type Limits struct {
	opt    Options
	ctx    context.Context
	keeper *loans.Keeper

	mu    sync.Mutex
	turns map[int]loans.Turns // by the number of a group

	requests atomic.Int64 // that were decided with limits of other groups
}

// Counts returns the counts of this process since it began.
func (l *Limits) Counts() clusterstatus.SharedLimits {
	of := l.keeper.Counts()
	return clusterstatus.SharedLimits{
		Requests: l.requests.Load(), Short: of.Short, Denied: of.Denied, Lent: of.Lent, Returned: of.Returned,
	}
}

// New returns limits that are served until Close.
func New(ctx context.Context, o Options) *Limits {
	l := &Limits{opt: o, ctx: ctx, turns: map[int]loans.Turns{}}
	l.keeper = loans.New(ctx, loans.Options{
		Home:            func(ops ...engine.Op) []engine.Result { return l.do(0, ops...) },
		HomeTurns:       func(key []byte) loans.Turns { return l.turnsOf(o.Router.Home(key)) },
		HomeIsReachable: func() bool { return true },

		Purses: l.do, PurseTurns: l.turnsOf, Holder: holderOf, InPurse: limits.Limit.InPurse, Replicas: o.Replicas,
		Count:  loans.Store.AwayPurseCount,
		IsKept: func(at int, name []byte) bool { return o.Router.Home(name) != at }, // others are of upstream

		Timeout: o.Timeout, Ahead: ahead, IdleAfter: idleAfter, EmptyAfter: emptyAfter, TidyEvery: tidyEvery,
		Low: 1. / 8, LowLeading: 3. / 8, MaxReturns: maxIdle,
	})
	l.keeper.Go(l.voidLost)
	return l
}

// Close waits until nothing is under way. The context of New has ended.
func (l *Limits) Close() { l.keeper.Close() }

// Decide decides a batch. Requests that wait for tokens may be decided after later ones of the batch.
func (l *Limits) Decide(b *engine.Batch) (finished bool) {
	if b.Atomic && len(b.Ops) > 1 || !slices.ContainsFunc(b.Ops, asksSeveral) {
		return l.opt.Router.Decide(b)
	}
	s := &batch{}
	ops := slices.Clone(b.Ops)
	until := time.Now().Add(l.opt.Timeout)
	for i := range ops {
		if !asksSeveral(ops[i]) {
			continue
		}
		r := request{limits: l, Several: loans.Several{
			Keeper: l.keeper, Result: &b.Results[i], End: until, Failed: engine.NoLeader, Done: s.Done,
		}}
		if r.gather(&ops[i]); r.At > 0 || ops[i].Verb == engine.Check {
			ops[i] = r.Asked
			s.requests = append(s.requests, r)
		}
	}
	if len(s.requests) == 0 {
		return l.opt.Router.Decide(b)
	}
	return s.Decide(b, &engine.Batch{Ops: ops, Results: b.Results}, l.opt.Router.Decide, s.settle)
}

// asksSeveral reports whether an operation asks several limits at once.
func asksSeveral(op engine.Op) bool { return op.Verb == engine.AcquireAll || op.Verb == engine.Check }

// do has a group carry out operations, the one with their keys if at is 0, and waits for it.
func (l *Limits) do(at int, ops ...engine.Op) []engine.Result {
	if at == 0 {
		return loans.Do(l.opt.Router.Decide, ops...)
	}
	return loans.Do(func(b *engine.Batch) bool { return l.opt.Router.DecideIn(at, b) }, ops...)
}

// batch is a batch with requests that may have to wait.
type batch struct {
	loans.Batch
	requests []request
}

func (s *batch) settle() {
	for i := range s.requests {
		s.Add()
		if s.requests[i].settle() {
			s.Done()
		}
	}
}
