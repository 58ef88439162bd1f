package engine

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strings"
	"sync"
)

// overflow are the limiters that new keys share while there is no room for them: one for each prefix and limit. They
// take the place of what the keys would have had to themselves, so nobody gets more than its own limit, and all of a
// prefix's new keys together get no more than one of them would.
//
// There are few, so that keys whose prefixes an attacker makes up can't take memory either: those for whose prefix there
// is no limiter share that of the empty prefix. Every change is made by an operation that changes something anyway, and
// what there is room for does not depend on what was cleaned up when: replicas have the same limiters.
type overflow struct {
	mu     sync.Mutex
	slots  map[slotName]*slot
	named  int // of them, those with a prefix
	bytes  int // of their states
	leases int // of them, those of concurrency limits
}

type slotName struct {
	prefix string
	limit  Limit
	twin   uint8 // which one, where one request asks several keys that would share
}

type slot struct{ state []byte }

const (
	maxNamedSlots    = 256
	maxUnnamedSlots  = 64
	maxOverflowBytes = 8 << 20 // of states; only those of sliding logs and leases grow
)

// spot is where a shared limiter is, or will be once something is kept in it.
type spot struct {
	name slotName
	slot *slot // nil if there is none yet
}

// place finds the limiter of a prefix, or that of all the rest, and reports false if there is room for neither. The
// caller holds mu.
func (o *overflow) place(now int64, prefix string, l Limit, twin uint8) (p spot, found bool) {
	p.name = slotName{prefix, l, twin}
	if p.slot = o.slots[p.name]; p.slot != nil {
		return p, true
	}
	if prefix != "" {
		if o.named < maxNamedSlots || o.count(now, true) < maxNamedSlots {
			return p, true
		}
		p.name.prefix = ""
		if p.slot = o.slots[p.name]; p.slot != nil {
			return p, true
		}
	}
	unnamed := len(o.slots) - o.named
	return p, unnamed < maxUnnamedSlots || o.count(now, false) < maxUnnamedSlots
}

// count counts the limiters that hold information at now.
func (o *overflow) count(now int64, named bool) (n int) {
	for name, s := range o.slots {
		if (name.prefix != "") == named && !s.expired(&name.limit, now) {
			n++
		}
	}
	return n
}

func (s *slot) expired(l *Limit, now int64) bool {
	return algorithms[l.Algorithm].expired(s.state, l, now)
}

// ask has a shared limiter decide for a key, and reports whether that changes it. It is refused if keeping it would take
// too much.
func (o *overflow) ask(c *call, p spot) (changed bool) {
	c.held, c.state, c.fresh = c.limit, noState[:], true
	if p.slot != nil && !p.slot.expired(&c.limit, c.now) {
		c.state, c.fresh = p.slot.state, false
	}
	if c.limit.Algorithm == Concurrency {
		op := *c.op
		op.Who = holderOfKey(op.Key, op.Who)
		c.op = &op
	}
	if changed = c.ask(); changed && c.op.Options&Peek == 0 && !o.fits(c, p) {
		c.refuse()
		return false
	}
	return changed
}

// fits reports whether there is room for what c decided. What holds no information any more takes none, as it may have
// been cleaned up elsewhere.
func (o *overflow) fits(c *call, p spot) bool {
	size := c.size()
	if o.bytes+size <= maxOverflowBytes {
		return true
	}
	for name, s := range o.slots {
		if s != p.slot && !s.expired(&name.limit, c.now) {
			size += len(s.state)
		}
	}
	return size <= maxOverflowBytes
}

// size is the bytes of the state that keeps what c decided.
func (c *call) size() int {
	alg := &algorithms[c.limit.Algorithm]
	if alg.bytes != 0 {
		return alg.bytes
	}
	return alg.need(c)
}

// keep writes what c decided.
func (o *overflow) keep(c *call, p spot) {
	alg, size := &algorithms[c.limit.Algorithm], c.size()
	if p.slot = o.slots[p.name]; p.slot == nil { // or another of the same request had it cleaned up since
		p.slot = o.add(c.now, p.name)
	}
	had := p.slot.state
	state := had
	if c.fresh || size != len(had) {
		state = make([]byte, size)
		if !c.fresh {
			copy(state, had)
		}
	}
	if alg.bytes != 0 {
		copy(state, c.next[:])
	} else {
		setVariableSize(state, size)
		alg.write(c, state)
	}
	p.slot.state = state
	if o.bytes += len(state) - len(had); o.bytes > maxOverflowBytes {
		o.clean(c.now)
	}
}

func (o *overflow) add(now int64, name slotName) *slot {
	if o.named >= maxNamedSlots || len(o.slots)-o.named >= maxUnnamedSlots {
		o.clean(now)
	}
	if o.slots == nil {
		o.slots = map[slotName]*slot{}
	}
	s := &slot{}
	o.slots[name] = s
	if name.prefix != "" {
		o.named++
	}
	if name.limit.Algorithm == Concurrency {
		o.leases++
	}
	return s
}

// clean removes the limiters that hold no information any more.
func (o *overflow) clean(now int64) {
	for n, s := range o.slots {
		if s.expired(&n.limit, now) {
			o.remove(n, s)
		}
	}
}

func (o *overflow) remove(n slotName, s *slot) {
	delete(o.slots, n)
	o.bytes -= len(s.state)
	if n.prefix != "" {
		o.named--
	}
	if n.limit.Algorithm == Concurrency {
		o.leases--
	}
}

func (o *overflow) clear() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.slots, o.named, o.bytes, o.leases = nil, 0, 0, 0
}

// holderOfKey tells apart the holders of different keys that share a limiter: the SHA-256 of both.
func holderOfKey(key, who []byte) []byte {
	b := binary.AppendUvarint(nil, uint64(len(key)))
	sum := sha256.Sum256(append(append(b, key...), who...))
	return sum[:]
}

// release ends the lease that a holder of a key without an entry has in a shared limiter, if it has one; with look it
// only reports whether it has.
func (o *overflow) release(c *call, look bool) (released bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.leases == 0 {
		return false
	}
	op := *c.op
	op.Who = holderOfKey(op.Key, op.Who)
	for name, s := range o.slots {
		if name.limit.Algorithm != Concurrency || s.expired(&name.limit, c.now) {
			continue
		}
		mine := call{now: c.now, op: &op, limit: name.limit, held: name.limit, state: s.state, result: c.result}
		if look && mine.survey().found || !look && algorithms[Concurrency].release(&mine) {
			return true
		}
	}
	return false
}

// ops calls visit for the operations that make the limiters there are, in an order that is the same everywhere.
func (o *overflow) ops(visit func(*Op)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	names := make([]slotName, 0, len(o.slots))
	for name := range o.slots {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b slotName) int {
		if a.prefix != b.prefix {
			return strings.Compare(a.prefix, b.prefix)
		}
		if c := slices.Compare(appendLimit(nil, &a.limit), appendLimit(nil, &b.limit)); c != 0 {
			return c
		}
		return int(a.twin) - int(b.twin)
	})
	for _, n := range names {
		visit(&Op{Verb: KeepOverflow, Options: Option(n.twin) << 1, Key: []byte(n.prefix), Who: o.slots[n].state, Parts: []Op{{Limit: n.limit, Tokens: 1}}})
	}
}

// load carries out a KeepOverflow: a shared limiter as it was.
func (o *overflow) load(now int64, op *Op, res *Result) {
	var room [maxState]byte
	e := Entry{Limit: op.Parts[0].Limit, State: op.Who}
	state, err := e.check(&room)
	if err != nil {
		res.Status = NotFound
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	name := slotName{string(op.Key), e.Limit, uint8(op.Options >> 1)}
	s := o.slots[name]
	if s == nil {
		s = o.add(now, name)
	}
	o.bytes += len(state) - len(s.state)
	s.state = slices.Clone(state)
	if o.bytes > maxOverflowBytes {
		o.clean(now)
	}
}
