package layout

import (
	"encoding/binary"

	"github.com/stintdb/stint/engine/internal/uint128"
)

// WindowPair is the state of a sliding window counter: the tokens of the epoch-aligned window that began at start, and
// of the one before. The tokens taken are all of the current window and the share of the previous one that a window
// reaching back from now still covers.
//
//	offset  size  field
//	0       8     start of the current window, nanoseconds since the Unix epoch
//	8       8     tokens granted in the previous window
//	16      8     tokens granted in the current window, and the warned bit
type WindowPair struct {
	Start, Prev, Cur int64
	Warned           bool // in the current window
}

// WindowPairBytes is the size of the state of a [WindowPair].
const WindowPairBytes = 24

// LoadWindowPair reads the state of a pair.
func LoadWindowPair(state []byte) WindowPair {
	cur, warned := LoadCount(state[16:])
	return WindowPair{int64(binary.LittleEndian.Uint64(state)), int64(binary.LittleEndian.Uint64(state[8:])), cur, warned}
}

// Store writes the state of the pair.
func (p WindowPair) Store(state []byte) {
	binary.LittleEndian.PutUint64(state, uint64(p.Start))
	binary.LittleEndian.PutUint64(state[8:], uint64(p.Prev))
	StoreCount(state[16:], p.Cur, p.Warned)
}

// At moves the pair on to the window that holds now. A clock that went back stays at the start of the window reached.
func (p WindowPair) At(now, width int64) WindowPair {
	start := now - FloorMod(now, width)
	switch {
	case start <= p.Start:
		return p
	case start == p.Start+width:
		return WindowPair{Start: start, Prev: p.Cur}
	}
	return WindowPair{Start: start}
}

// Taken is prev·(W-e) + cur·W: the tokens taken, times W, where e is how far now is into the window.
func (p WindowPair) Taken(now, width int64) uint128.Int {
	covered := min(width, max(0, width-(now-p.Start)))
	return uint128.Product(uint64(p.Prev), uint64(covered)).Plus(uint128.Product(uint64(p.Cur), uint64(width)))
}

// Reset is the time until no grant counts.
func (p WindowPair) Reset(now, width int64) int64 {
	switch {
	case p.Cur > 0:
		return p.Start + 2*width - now
	case p.Prev > 0:
		return p.Start + width - now
	}
	return 0
}

// Wait is the time until n more tokens fit a capacity.
func (p WindowPair) Wait(now, width, capacity, n int64) int64 {
	free := capacity - p.Cur - n
	if free >= 0 { // in this window, once enough of the previous one is out of reach
		covered, _ := uint128.Product(uint64(free), uint64(width)).Divide(uint64(p.Prev))
		return p.Start + width - int64(covered) - now
	}
	covered, _ := uint128.Product(uint64(capacity-n), uint64(width)).Divide(uint64(p.Cur))
	return p.Start + 2*width - int64(covered) - now
}

// FloorMod is the remainder of a divided by b, which is above 0; it is never below 0.
func FloorMod(a, b int64) int64 {
	if m := a % b; m < 0 {
		return m + b
	} else {
		return m
	}
}
