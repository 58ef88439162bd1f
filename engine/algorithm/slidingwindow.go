package algorithm

import (
	"encoding/binary"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/internal/uint128"
	"github.com/stintdb/stint/engine/limits"
)

// windowPair is the state of a sliding window counter: the tokens of the epoch-aligned window that began at start, and
// of the one before. The tokens taken are all of the current window and the share of the previous one that a window
// reaching back from now still covers.
//
//	offset  size  field
//	0       8     start of the current window, nanoseconds since the Unix epoch
//	8       8     tokens granted in the previous window
//	16      8     tokens granted in the current window, and the warned bit
type windowPair struct {
	start, prev, cur int64
	warned           bool // in the current window
}

const windowPairBytes = 24

func loadWindowPair(state []byte) windowPair {
	cur, warned := loadCount(state[16:])
	return windowPair{int64(binary.LittleEndian.Uint64(state)), int64(binary.LittleEndian.Uint64(state[8:])), cur, warned}
}

func (p windowPair) store(state []byte) {
	binary.LittleEndian.PutUint64(state, uint64(p.start))
	binary.LittleEndian.PutUint64(state[8:], uint64(p.prev))
	storeCount(state[16:], p.cur, p.warned)
}

// at moves the pair on to the window that holds now. A clock that went back stays at the start of the window reached.
func (p windowPair) at(now, width int64) windowPair {
	start := now - floorMod(now, width)
	switch {
	case start <= p.start:
		return p
	case start == p.start+width:
		return windowPair{start: start, prev: p.cur}
	}
	return windowPair{start: start}
}

// taken is prev·(W-e) + cur·W: the tokens taken, times W, where e is how far now is into the window.
func (p windowPair) taken(now, width int64) uint128.Int {
	covered := min(width, max(0, width-(now-p.start)))
	return uint128.Product(uint64(p.prev), uint64(covered)).Plus(uint128.Product(uint64(p.cur), uint64(width)))
}

// reset is the time until no grant counts.
func (p windowPair) reset(now, width int64) int64 {
	switch {
	case p.cur > 0:
		return p.start + 2*width - now
	case p.prev > 0:
		return p.start + width - now
	}
	return 0
}

// wait is the time until n more tokens fit a capacity.
func (p windowPair) wait(now, width, capacity, n int64) int64 {
	free := capacity - p.cur - n
	if free >= 0 { // in this window, once enough of the previous one is out of reach
		covered, _ := uint128.Product(uint64(free), uint64(width)).Divide(uint64(p.prev))
		return p.start + width - int64(covered) - now
	}
	covered, _ := uint128.Product(uint64(capacity-n), uint64(width)).Divide(uint64(p.cur))
	return p.start + 2*width - int64(covered) - now
}

// pairUnder returns the state under a limit. Where the window's width changes, the tokens that count at this moment
// carry over, as if granted now.
func pairUnder(c *Call, l *limits.Limit) windowPair {
	width := l.Rate.Period
	fresh := windowPair{start: c.Now - floorMod(c.Now, width)}
	if c.IsNew {
		return fresh
	}
	p := loadWindowPair(c.State).at(c.Now, c.Prev.Rate.Period)
	if c.Prev.Rate.Period == width {
		return p
	}
	fresh.cur = p.taken(c.Now, c.Prev.Rate.Period).DivideUp(uint64(c.Prev.Rate.Period))
	return fresh
}

func decideSliding(c *Call) (changed bool) {
	width := c.Limit.Rate.Period
	p := pairUnder(c, &c.Limit)
	used := p.taken(c.Now, width).DivideUp(uint64(width))
	granted, ok := grantCounted(c, used)
	if !ok {
		if c.Result.Status == engine.OK && c.Result.Wait != engine.NeverWait {
			n := c.Op.Tokens
			if c.Op.Options&engine.UpTo != 0 {
				n = 1
			}
			c.Result.Wait = p.wait(c.Now, width, c.grantable(), n)
		}
		reportSliding(c, p, used, false)
		return false
	}
	p.cur += granted
	reportSliding(c, p, used+granted, c.Op.Options&engine.Force != 0)
	p.store(c.Next[:])
	return granted > 0
}

func reportSliding(c *Call, p windowPair, used int64, showDebt bool) {
	reportCount(c, used, c.Limit.Capacity, showDebt)
	c.Result.Reset = p.reset(c.Now, c.Limit.Rate.Period)
}

func lookSliding(c *Call) {
	p := pairUnder(c, &c.Limit)
	width := c.Limit.Rate.Period
	reportSliding(c, p, p.taken(c.Now, width).DivideUp(uint64(width)), c.Op.Verb == engine.Look)
}

// refundSliding gives back the latest grants first.
func refundSliding(c *Call) {
	width := c.Prev.Rate.Period
	p := loadWindowPair(c.State).at(c.Now, width)
	used := p.taken(c.Now, width).DivideUp(uint64(width))
	tokens := min(c.Op.Tokens, used)
	left := used - tokens
	if tokens <= p.cur {
		p.cur -= tokens
	} else {
		p.cur = 0 // the largest previous window of which no more than the tokens left still count
		prev, _ := uint128.Product(uint64(left), uint64(width)).Divide(uint64(p.start + width - c.Now))
		p.prev = int64(prev)
	}
	c.Result.Granted = tokens
	reportSliding(c, p, left, true)
	p.store(c.Next[:])
}

func slidingExpired(state []byte, l *limits.Limit, now int64) bool {
	p := loadWindowPair(state)
	if p.cur > 0 {
		return now >= p.start+2*l.Rate.Period
	}
	return p.prev == 0 && !p.warned || now >= p.start+l.Rate.Period
}
