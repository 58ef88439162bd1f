package recent

import (
	"hash/maphash"
	"maps"
	"sync"
	"sync/atomic"
	"time"
)

// Bounds of a record.
const (
	// Window is how far back a record goes.
	Window = 5 * time.Minute
	// MaxPolicies is how many policies have a record. The first ones keep theirs until one of them has not been asked
	// for the length of a window.
	MaxPolicies = 32
	// MaxBytes is the memory of one policy's requests.
	MaxBytes = maxChunks * chunkBytes

	maxChunks  = 16
	chunkBytes = 32<<10 - 160 // with the rest of a chunk, 32 KiB
	maxRequest = 512          // bytes of a request in a chunk; longer ones are left out and counted
	maxLevel   = 30
	retryEvery = int64(time.Second) // to find room for another policy
)

// Record keeps requests on policies. Its methods may be called from any goroutine.
type Record struct {
	seed     maphash.Seed
	policies atomic.Pointer[map[string]*requests]
	retryAt  atomic.Int64 // no room for another policy until then
	least    atomic.Int32 // the lowest level of the policies: most requests at a high rate need not look for theirs

	mu sync.Mutex // one policy is added at a time
}

// NewRecord returns an empty record.
func NewRecord() *Record {
	r := &Record{seed: maphash.MakeSeed()}
	r.policies.Store(&map[string]*requests{})
	return r
}

// Note keeps a request for tokens by a caller, whose fields are names and values by turns, at a time in nanoseconds.
func (r *Record) Note(policy, id []byte, fields [][]byte, now, tokens int64, denied bool) {
	hash := maphash.Bytes(r.seed, id)
	if !isKept(hash, int(r.least.Load())) {
		return
	}
	of := (*r.policies.Load())[string(policy)]
	if of == nil {
		if of = r.add(string(policy), now); of == nil {
			return
		}
	}
	if isKept(hash, int(of.level.Load())) && of.note(r.seed, hash, id, fields, now, tokens, denied) {
		r.setLeast()
	}
}

// setLeast follows the levels of the policies.
func (r *Record) setLeast() {
	r.mu.Lock()
	defer r.mu.Unlock()
	least := int32(maxLevel)
	for _, of := range *r.policies.Load() {
		least = min(least, of.level.Load())
	}
	r.least.Store(least)
}

// isKept reports whether the requests of a caller are kept at a level, at which one caller in 2^level is recorded.
func isKept(hash uint64, level int) bool { return hash&(1<<level-1) == 0 }

// add makes room for a policy, or returns nil.
func (r *Record) add(policy string, now int64) *requests {
	if now < r.retryAt.Load() {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	all := maps.Clone(*r.policies.Load())
	if of := all[policy]; of != nil {
		return of
	}
	if len(all) >= MaxPolicies {
		maps.DeleteFunc(all, func(_ string, of *requests) bool { return of.idleSince(now - int64(Window)) })
	}
	if len(all) >= MaxPolicies {
		r.retryAt.Store(now + retryEvery)
		return nil
	}
	of := &requests{from: now}
	all[policy] = of
	r.policies.Store(&all)
	r.least.Store(0)
	return of
}

// Policies lists the policies that have a record, in no order.
func (r *Record) Policies() (names []string) {
	for name := range *r.policies.Load() {
		names = append(names, name)
	}
	return names
}

// Requests are the recorded requests of one policy.
type Requests struct {
	From    int64 // nanoseconds: from then on, all requests of the recorded callers are there, except those left out
	OneIn   int64 // one caller of this number is recorded
	LeftOut int64 // requests that were too long
	All     []Request
}

// Request is a request on a policy.
type Request struct {
	At     int64 // nanoseconds
	Tokens int64
	Denied bool
	ID     []byte
	Fields [][]byte // names and values by turns
}

// Requests returns the requests of a policy in the window up to now, in the order in which they came; none for a policy
// that has no record.
func (r *Record) Requests(policy string, now int64) Requests {
	of := (*r.policies.Load())[policy]
	if of == nil {
		return Requests{From: now, OneIn: 1}
	}
	return of.list(r.seed, now-int64(Window))
}
