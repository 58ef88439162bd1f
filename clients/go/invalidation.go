package stint

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
)

// An invalidation is a refund or a reset of a key by this process. Chunks requested before it ended may have been granted
// before it took place, and would be valid too long.
type invalidation struct {
	running int
	ended   int64 // the nanosecond after it
}

// covers reports whether a chunk requested at a time may have been granted before the invalidation.
func (i *invalidation) covers(sentAt int64) bool { return i.running > 0 || sentAt < i.ended }

// invalidationKind is a kind of invalidation: its field in a lease, and whether chunks are given back. After a reset they are not,
// because nothing is taken from the new bucket.
type invalidationKind struct {
	of       func(*lease) *invalidation
	giveBack bool
}

var (
	refunding = invalidationKind{func(e *lease) *invalidation { return &e.refunded }, true}
	resetting = invalidationKind{func(e *lease) *invalidation { return &e.reset }, false}
)

// begin empties the lease. Chunks that arrive until end are not kept.
func (k invalidationKind) begin(e *lease) {
	e.mu.Lock()
	k.of(e).running++
	e.mu.Unlock()
	k.drop(e)
}

// end is called when the server has answered.
func (k invalidationKind) end(e *lease, begun bool) {
	e.mu.Lock()
	if begun {
		k.of(e).running--
	}
	k.of(e).ended = e.leases.now() + 1
	e.mu.Unlock()
	k.drop(e)
}

func (k invalidationKind) drop(e *lease) {
	e.mu.Lock()
	refund := e.clear(e.leases.now())
	e.mu.Unlock()
	if k.giveBack && refund > 0 {
		go e.refund(context.Background(), refund)
	}
}

// leaseRegistry has the Leases on a connection.
type leaseRegistry struct {
	mu  sync.Mutex
	all atomic.Pointer[[]*Leases] // replaced, never changed
}

func (r *leaseRegistry) add(s *Leases) {
	r.change(func(all []*Leases) []*Leases { return append(all, s) })
}

func (r *leaseRegistry) remove(s *Leases) {
	r.change(func(all []*Leases) []*Leases {
		return slices.DeleteFunc(all, func(other *Leases) bool { return other == s })
	})
}

func (r *leaseRegistry) change(how func([]*Leases) []*Leases) {
	r.mu.Lock()
	defer r.mu.Unlock()
	changed := how(slices.Clone(r.list()))
	r.all.Store(&changed)
}

func (r *leaseRegistry) list() []*Leases {
	if all := r.all.Load(); all != nil {
		return *all
	}
	return nil
}

// invalidate begins to invalidate a key in all leases. The caller calls done when the server has answered.
func (r *leaseRegistry) invalidate(key serverKey, kind invalidationKind) (done func()) {
	all := r.list()
	before := make([]*lease, len(all))
	for i, s := range all {
		if before[i] = s.lookUp(key); before[i] != nil {
			kind.begin(before[i])
		}
	}
	return func() {
		for i, s := range all {
			if before[i] != nil {
				kind.end(before[i], true)
			}
			if now := s.lookUp(key); now != nil && now != before[i] { // made since begin
				kind.end(now, false)
			}
		}
	}
}
