package loans

import (
	"cmp"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/purse"
)

// Options configure a Keeper. Each holder has its purses at a place, which is a number.
type Options struct {
	// Home carries out operations on one key at home and returns their results in order, after a bounded time. The
	// status Refused says that home has answered with an error of its own.
	Home func(ops ...engine.Op) []engine.Result
	// HomeTurns returns the turns of the node or group that decides a key at home.
	HomeTurns func(key []byte) Turns
	// HomeIsReachable reports whether tokens can go back now.
	HomeIsReachable func() bool
	// HomeDecides says that home decides requests for one limit by itself when a loan is not worth it.
	HomeDecides bool

	// Purses carries out operations on the purses of a place and returns their results in order.
	Purses func(at int, ops ...engine.Op) []engine.Result
	// PurseTurns returns the turns of a place.
	PurseTurns func(at int) Turns
	// Holder returns the name under which home knows the holder of a place, "" while it is not known.
	Holder func(at int) string
	// InPurse returns a limit as its purse has it, and false if it cannot be lent.
	InPurse func(limit limits.Limit) (kept limits.Limit, ok bool)
	// Replicas returns what this process has of the places.
	Replicas func() []Replica
	// Count returns how many purses in a store may belong to the Keeper. If there are none, the store is not searched.
	Count func(of Store) int64
	// IsKept reports whether the purse of a key at a place belongs to the Keeper.
	IsKept func(at int, name []byte) bool

	Timeout    time.Duration // the longest that a step waits for its turn, and a request for a loan
	Ahead      time.Duration // purses are to have the tokens that are used in this time
	LastAhead  time.Duration // the last tokens of home are borrowed for this time, and denials renewed, so that few wait; 0 to borrow only for those who wait
	IdleAfter  time.Duration // tokens that were not used for this time go back
	EmptyAfter time.Duration // a purse without a loan ends when it was not used for this time
	RestFor    time.Duration // after home has lent nothing, it decides requests for this time
	DenyFor    time.Duration // a denial of home is repeated for this time at most; 0 for [DenyFor]
	For        time.Duration // home counts a loan as spent that it has not heard of for this time; 0 for never
	TidyEvery  time.Duration // the time between two looks for unused tokens

	Low        float64 // more is borrowed if the purse has less than this part of the tokens used in Ahead
	LowLeading float64 // the same in the process that leads the place, so that it borrows before others
	MaxReturns int     // purses whose tokens go back in one round
}

// Refused is the status of an operation that home has answered with an error of its own. Nothing is deposited: the
// operation stays prepared, and the next exchange tries it again.
const Refused = engine.NotPermitted

// Replica is a replica of a place in this process.
type Replica struct {
	Number int          // of the place
	Leads  func() bool  // only then this process returns what nobody uses
	Now    func() int64 // the time of decisions, in nanoseconds
	Store  Store
}

// Store is the part of a store that has its purses and loans.
type Store interface {
	PurseCount() int64     // of keys that the store owns
	AwayPurseCount() int64 // of other keys
	Purses(visit func(key []byte, limit limits.Limit, p purse.Purse))
	LentKeys() int64
	Shards() int
	ScanLoans(shard int, visit func(key, holder []byte, tokens int64))
}

// Bounds of all Keepers.
const (
	maxKeys      = purse.Max        // keys whose demand is known
	maxWaiters   = 4096             // requests that wait for tokens of one key
	forgetAfter  = 10 * time.Second // a key without requests is forgotten
	decideAtOnce = 512              // requests that have waited are decided together
)

// Keeper keeps the loans of some holders.
type Keeper struct {
	opt Options
	ctx context.Context

	mu   sync.Mutex
	keys map[keyID]*Key

	lines lines // of operations on loans

	ending sync.Mutex // of ended
	ended  bool
	work   sync.WaitGroup

	counts counts
	tidied atomic.Int64 // when the purses were last looked through, by the time of decisions
}

type counts struct{ operations, lent, returned, dropped, short, denied, answered atomic.Int64 }

// Counts are what a Keeper has done since it began.
type Counts struct {
	Operations int64 // operations on loans that were carried out
	Lent       int64 // tokens that they brought
	Returned   int64 // tokens that went back
	Dropped    int64 // tokens of loans that home has ended: nobody is granted them
	Short      int64 // times that a request for several limits found too few tokens in a purse
	Denied     int64 // such requests that were denied, because home had no more tokens
	Answered   int64 // of these, those for which home was asked
}

// Counts returns the counts.
func (k *Keeper) Counts() Counts {
	c := &k.counts
	return Counts{c.operations.Load(), c.lent.Load(), c.returned.Load(), c.dropped.Load(), c.short.Load(), c.denied.Load(), c.answered.Load()}
}

// New returns a Keeper that works until the context ends.
func New(ctx context.Context, o Options) *Keeper {
	o.DenyFor = cmp.Or(o.DenyFor, DenyFor)
	k := &Keeper{opt: o, ctx: ctx, keys: map[keyID]*Key{}}
	for _, r := range o.Replicas() {
		k.tidied.Store(r.Now())
	}
	k.work.Go(k.tidy)
	return k
}

// Close waits until nothing is under way. The context of New must have ended.
func (k *Keeper) Close() {
	k.ending.Lock()
	k.ended = true
	k.ending.Unlock()
	k.work.Wait()
}

// Go calls f in a goroutine that Close waits for. It returns false at the end.
func (k *Keeper) Go(f func()) bool {
	k.ending.Lock()
	defer k.ending.Unlock()
	if k.ended || k.ctx.Err() != nil {
		return false
	}
	k.work.Go(f)
	return true
}

// Key returns the key of a name whose purse is at a place. It returns nil if there are too many keys.
func (k *Keeper) Key(at int, name []byte) *Key {
	k.mu.Lock()
	defer k.mu.Unlock()
	key := k.keys[keyID{at, string(name)}]
	if key == nil && len(k.keys) < maxKeys {
		key = newKey(k, keyID{at, string(name)}, time.Now())
		k.keys[key.keyID] = key
	}
	return key
}
