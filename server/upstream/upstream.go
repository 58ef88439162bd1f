package upstream

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/purse"
	"github.com/stintdb/stint/engine/slot"
	"github.com/stintdb/stint/internal/loans"
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
	DenyFor   time.Duration // how long a denial by home is repeated at most; 0 for the usual time
	LoanTime  time.Duration // home counts lent tokens as spent after this time; 0 for never
	Down      Down

	Decider  decider.Decider // of the store
	Policies Policies
	Replicas func() []Replica                       // the keys that this process has
	Holder   func() string                          // the name of this cluster at home; "" while it is not known
	Reserved func(now int64, visit func(id []byte)) // calls visit for the reservations in the store that have tokens of home; nil for none
	Alone    bool                                   // the store belongs to this process alone, and may have lost its last changes
	Log      *slog.Logger
}

// Policies returns the limits that an operation asks for under the policies and reservations known here, which may be
// out of date.
type Policies interface {
	Asked(op *engine.Op) []engine.Op
}

// Replica has all keys, or the keys of one group in a cluster with several groups. Its Number is always 0.
type Replica = loans.Replica

// Times and bounds of loans. Home is far, so the tokens of a second are held.
const (
	ahead     = time.Second
	lastAhead = 2 * loans.DenyFor // until the next answer and beyond
	idleAfter = 10 * time.Second
	tidyEvery = time.Second
	restFor   = 250 * time.Millisecond
	maxIdle   = 4096 // keys whose tokens are returned in one round

	dropTogether = 1024 // keys whose tokens are dropped in one batch
)

// Upstream decides on keys of home, and hands on operations on others. It implements [decider.Decider].
type Upstream struct {
	opt    Options
	home   *routes
	turns  loans.Turns // of steps in the store
	keeper *loans.Keeper
	lender *lender
	work   sync.WaitGroup     // of the lender
	stop   context.CancelFunc // of the keeper and the lender
	counts counts
}

// counts are the counts of Status that the keeper does not have.
type counts struct {
	local, asked, repeated, failed, uncertain, dropped atomic.Int64
	grantedAlone, deniedAlone                          atomic.Int64
}

// Login returns the command that logs in at home, nil for none.
func (o *Options) Login() []string {
	switch {
	case o.User != "":
		return []string{"AUTH", o.User, o.Password}
	case o.Password != "":
		return []string{"AUTH", o.Password}
	}
	return nil
}

// New connects to home. Close ends it.
func New(o Options) *Upstream {
	if o.Dial == nil {
		o.Dial = Dialer(nil)
	}
	u := &Upstream{opt: o, turns: loans.NewTurns()}
	first := &home{addresses: o.Addresses, dial: o.Dial, login: o.Login(), log: o.Log}
	u.home = &routes{first: first, named: map[string]*home{}, bySlot: map[int]string{}}
	if o.Alone {
		u.dropAll()
	}
	first.start()
	ctx, cancel := context.WithCancel(context.Background())
	u.stop, u.keeper, u.lender = cancel, loans.New(ctx, u.loans()), newLender(o.Holder, u.askLoan)
	u.lender.giveBack = func(op *engine.Op) {
		if key := u.keeper.Key(here, op.Key); key != nil {
			key.GiveBackAll(op.Limit)
		}
	}
	if o.Alone {
		u.work.Go(func() { u.lender.run(ctx) })
	}
	return u
}

// loans returns the options of the keeper.
func (u *Upstream) loans() loans.Options {
	return loans.Options{
		Home: u.lend, HomeIsReachable: u.isConnected, HomeDecides: true,
		HomeTurns: func(key []byte) loans.Turns { return u.home.of(slot.Of(key)).turns },

		Purses:     func(_ int, ops ...engine.Op) []engine.Result { return loans.Do(u.opt.Decider.Decide, ops...) },
		PurseTurns: func(int) loans.Turns { return u.turns },
		Holder:     func(int) string { return u.opt.Holder() },
		InPurse:    inPurse, Replicas: u.opt.Replicas, Count: loans.Store.PurseCount,
		IsKept: func(_ int, name []byte) bool { return u.ofHome(name) },

		Timeout: u.opt.Timeout, Ahead: ahead, LastAhead: lastAhead, IdleAfter: idleAfter, EmptyAfter: idleAfter, RestFor: restFor,
		DenyFor: u.opt.DenyFor, For: u.opt.LoanTime,
		TidyEvery: tidyEvery, Low: 1. / 2, LowLeading: 1. / 2, MaxReturns: maxIdle,
	}
}

// askLoan asks home for a Lend, Return or Acquire.
func (u *Upstream) askLoan(op engine.Op, answer func(engine.Result)) {
	u.home.send(u.opt.Timeout, op.Key, wordsOf(&op), func(r reply, err error) { answer(resultOf(&op, &r, err)) })
}

// here is the one place that has the purses: the store of this server or cluster.
const here = 0

// inPurse returns a limit as the key's purse has it, and false if the limit cannot be lent. A purse has no closed windows.
func inPurse(limit limits.Limit) (kept limits.Limit, ok bool) {
	limit.Algorithm = limit.Algorithm.Purse()
	return limit, limit.Algorithm != limits.NoAlgorithm && limit.History == 0
}

func (u *Upstream) isConnected() bool {
	connected, _ := u.home.status()
	return connected
}

// dropAll drops the tokens that the last process has left: the store may have lost that they were spent. It also forgets
// the reservations that have such tokens, because the store may have lost that they gave tokens back.
func (u *Upstream) dropAll() {
	var ops []engine.Op
	for _, r := range u.opt.Replicas() {
		r.Store.Purses(func(name []byte, limit limits.Limit, p purse.Purse) {
			u.counts.dropped.Add(p.Tokens)
			op := engine.Op{Verb: engine.Prepare, Key: append([]byte(nil), name...), Limit: limit, Options: engine.Force}
			ops = append(ops, op)
		})
		if u.opt.Reserved == nil {
			continue
		}
		u.opt.Reserved(r.Now(), func(id []byte) {
			ops = append(ops, engine.Op{Verb: engine.Delete, Key: append([]byte(nil), id...)})
		})
	}
	for some := range slices.Chunk(ops, dropTogether) {
		loans.Do(u.opt.Decider.Decide, some...)
	}
}

// Close ends the connection to home. The tokens that this process alone has are returned first, as far as there is
// time.
func (u *Upstream) Close(ctx context.Context) {
	for passed := 0; ctx.Err() == nil && u.isConnected(); {
		hasPurses := u.opt.Alone && u.purseCount() > 0
		if hasPurses {
			passed = u.keeper.ReturnAll(passed)
		}
		if !u.lender.returnAll() && !hasPurses {
			break
		}
		select {
		case <-time.After(lookEvery):
		case <-ctx.Done():
		}
	}
	u.stop()
	u.home.close()
	u.keeper.Close()
	u.work.Wait()
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

	GrantedAlone, DeniedAlone int64 // requests decided as Down says

	Lends    int64 // loans and renewals by this process
	Lent     int64 // tokens that they brought
	Returned int64 // tokens given back
	Dropped  int64 // tokens not spent that home counts as spent: after a restart, or a loan that home has ended
}

func (u *Upstream) purseCount() (sum int64) {
	for _, r := range u.opt.Replicas() {
		sum += r.Store.PurseCount()
	}
	return sum
}

// Status returns the state of the connection and the counts.
func (u *Upstream) Status() Status {
	c, l, of := &u.counts, u.lender, u.keeper.Counts()
	s := Status{
		Purses: u.purseCount(),
		Local:  c.local.Load(), Asked: c.asked.Load() + of.Answered, Repeated: c.repeated.Load() + of.Denied - of.Answered,
		Failed: c.failed.Load(), Uncertain: c.uncertain.Load(),
		Lends: of.Operations + l.lends.Load(), Lent: of.Lent + l.lent.Load(), Returned: of.Returned + l.returned.Load(), Dropped: c.dropped.Load() + of.Dropped,
	}
	s.GrantedAlone, s.DeniedAlone = c.grantedAlone.Load(), c.deniedAlone.Load()
	s.Connected, s.Failure = u.home.status()
	return s
}
