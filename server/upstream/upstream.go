package upstream

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/purse"
	"github.com/stintdb/stint/server/decider"
)

// Options describe the home cluster, and the store that holds its tokens.
type Options struct {
	Addresses []string
	Keys      []string      // patterns of package glob: the keys whose limits have their home there
	User      string        // "" for the user default
	Password  string        // "" for none
	Dial      Dial          // nil for TCP without TLS
	Timeout   time.Duration // of a request to home

	Decider  decider.Decider // of the store
	Policies Policies
	Replicas func() []Replica // the keys that this process has
	Holder   func() string    // the name of this cluster at home; "" while it is not known
	Alone    bool             // the store is this process's, and may have lost its last changes
	Log      *slog.Logger
}

// Policies are those that this process knows, which may be behind.
type Policies interface {
	Asked(op *engine.Op) []engine.Op
}

// Replica is all keys, or in a cluster with groups of keys those of one group.
type Replica struct {
	Store Store
	Now   func() int64 // of the store's decisions
	Leads func() bool  // this process returns tokens that nobody uses; in a cluster, one does
}

// Store is the part of a store that is read beside its decisions.
type Store interface {
	Purses(visit func(key []byte, limit limits.Limit, t purse.Purse))
	PurseCount() int64
}

// Times of loans.
const (
	ahead       = time.Second            // the time whose demand is held
	idleAfter   = 10 * time.Second       // unused tokens are returned
	tidyEvery   = time.Second            //
	strictFor   = 250 * time.Millisecond // after a loan of nothing, home decides each request
	denyFor     = 100 * time.Millisecond // a denial of home is repeated, unless its wait is shorter
	measureOver = 50 * time.Millisecond  // demand is measured
)

// Bounds, beside those of [home].
const (
	maxKeys      = purse.Max // whose demand is known; requests for others go to home one by one
	maxWaiters   = 4096      // of a key
	maxExchanges = 256       // operations on loans at a time, with each node of home
	maxIdle      = 4096      // keys whose tokens are returned in one round
)

// Upstream decides on keys of home, and hands on operations on others. It implements [decider.Decider].
type Upstream struct {
	opt  Options
	home *routes

	mu   sync.Mutex
	keys map[string]*key

	background sync.WaitGroup // exchanges and tidy
	stop       chan struct{}
	counts     counts
}

// counts are those of Status.
type counts struct {
	local, asked, repeated, failed, uncertain, lends, lent, returned, dropped atomic.Int64
}

// New connects to home. Close ends it.
func New(o Options) *Upstream {
	if o.Dial == nil {
		o.Dial = Dialer(nil)
	}
	u := &Upstream{opt: o, keys: map[string]*key{}, stop: make(chan struct{})}
	first := &home{addresses: o.Addresses, dial: o.Dial, log: o.Log}
	switch {
	case o.User != "":
		first.login = []string{"AUTH", o.User, o.Password}
	case o.Password != "":
		first.login = []string{"AUTH", o.Password}
	}
	u.home = &routes{first: first, named: map[string]*home{}, bySlot: map[int]string{}}
	if o.Alone {
		u.dropAll()
	}
	first.start()
	u.background.Go(u.tidy)
	return u
}

// Decide implements [decider.Decider].
func (u *Upstream) Decide(b *engine.Batch) (finished bool) {
	for i := range b.Ops {
		if u.classify(&b.Ops[i]) != handOn {
			return u.decideApart(b)
		}
	}
	return u.opt.Decider.Decide(b)
}

// decide has the store carry out operations, and waits for it.
func (u *Upstream) decide(ops ...engine.Op) []engine.Result {
	b := &engine.Batch{Ops: ops, Results: make([]engine.Result, len(ops))}
	done := make(chan struct{})
	b.Done = func() { close(done) }
	if !u.opt.Decider.Decide(b) {
		<-done
	}
	return b.Results
}

// Status is a snapshot of the counters since the start, and of the connection.
type Status struct {
	Connected bool
	Failure   string // the last one of the connection, or the last error that home has answered
	Purses    int64  // keys with tokens of home that this process has

	Local     int64 // requests granted from tokens here
	Asked     int64 // requests that home has decided
	Repeated  int64 // requests denied because home had just denied one
	Failed    int64 // requests answered UPSTREAM
	Uncertain int64 // requests answered UNCERTAIN
	Lends     int64 // loans and renewals by this process
	Lent      int64 // tokens that they brought
	Returned  int64 // tokens given back
	Dropped   int64 // tokens not spent, though home counts them: after a restart, or a loan that home has ended
}

func (u *Upstream) purseCount() (sum int64) {
	for _, r := range u.opt.Replicas() {
		sum += r.Store.PurseCount()
	}
	return sum
}

// Status returns the state of the connection and the counts.
func (u *Upstream) Status() Status {
	c := &u.counts
	s := Status{Purses: u.purseCount(), Local: c.local.Load(), Asked: c.asked.Load(), Repeated: c.repeated.Load(), Failed: c.failed.Load(),
		Uncertain: c.uncertain.Load(), Lends: c.lends.Load(), Lent: c.lent.Load(), Returned: c.returned.Load(), Dropped: c.dropped.Load()}
	s.Connected, s.Failure = u.home.status()
	return s
}
