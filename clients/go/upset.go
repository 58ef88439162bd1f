package stint

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
)

// An upset is a refund or a reset of a key by this process. Chunks requested before it ended may have been granted
// before it took place, and would be valid too long.
type upset struct {
	running int
	ended   int64 // the nanosecond after it
}

// covers reports whether a chunk requested at a time may have been granted before the upset.
func (u *upset) covers(sentAt int64) bool { return u.running > 0 || sentAt < u.ended }

// upsetting is a kind of upset: its field in a lease, and whether chunks are given back. After a reset they are not,
// because nothing is taken from the new bucket.
type upsetting struct {
	of       func(*lease) *upset
	giveBack bool
}

var (
	refunding = upsetting{func(e *lease) *upset { return &e.refunded }, true}
	resetting = upsetting{func(e *lease) *upset { return &e.reset }, false}
)

// begin empties the lease. Chunks that arrive until end are not kept.
func (u upsetting) begin(e *lease) {
	e.mu.Lock()
	u.of(e).running++
	e.mu.Unlock()
	u.drop(e)
}

// end is called when the server has answered.
func (u upsetting) end(e *lease, begun bool) {
	e.mu.Lock()
	if begun {
		u.of(e).running--
	}
	u.of(e).ended = e.leases.now() + 1
	e.mu.Unlock()
	u.drop(e)
}

func (u upsetting) drop(e *lease) {
	e.mu.Lock()
	refund := e.clear(e.leases.now())
	e.mu.Unlock()
	if u.giveBack && refund > 0 {
		go e.refund(context.Background(), refund)
	}
}

// lessees are the Leases on a connection.
type lessees struct {
	mu  sync.Mutex
	all atomic.Pointer[[]*Leases] // replaced, never changed
}

func (l *lessees) add(s *Leases) {
	l.change(func(all []*Leases) []*Leases { return append(all, s) })
}

func (l *lessees) remove(s *Leases) {
	l.change(func(all []*Leases) []*Leases {
		return slices.DeleteFunc(all, func(other *Leases) bool { return other == s })
	})
}

func (l *lessees) change(how func([]*Leases) []*Leases) {
	l.mu.Lock()
	defer l.mu.Unlock()
	changed := how(slices.Clone(l.list()))
	l.all.Store(&changed)
}

func (l *lessees) list() []*Leases {
	if all := l.all.Load(); all != nil {
		return *all
	}
	return nil
}

// upset begins an upset of a key in all leases. The caller calls done when the server has answered.
func (l *lessees) upset(key serverKey, u upsetting) (done func()) {
	all := l.list()
	before := make([]*lease, len(all))
	for i, s := range all {
		if before[i] = s.lookUp(key); before[i] != nil {
			u.begin(before[i])
		}
	}
	return func() {
		for i, s := range all {
			if before[i] != nil {
				u.end(before[i], true)
			}
			if now := s.lookUp(key); now != nil && now != before[i] { // made since begin
				u.end(now, false)
			}
		}
	}
}
