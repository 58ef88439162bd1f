package store

import (
	"encoding/binary"

	"github.com/stintdb/stint/engine/limits"
)

// algorithm is a row of the table: how an algorithm decides, and keeps its state. Its properties are in [limits.Algorithm].
type algorithm struct {
	bytes   int                                                 // size of its state; 0 if that varies
	decide  func(c *call) (changed bool)                        // answer an Acquire
	look    func(c *call)                                       // report the state under c.limit
	refund  func(c *call)                                       // give back, in next or in place; nil if the algorithm has no refunds
	expired func(state []byte, l *limits.Limit, now int64) bool // the state has expired: the limiter is at its full limit
	rewind  func(state []byte, l *limits.Limit, by int64)       // make all times in the state earlier, in place: [Store.Rewind]

	need    func(c *call) int             // of varying size: the bytes that keeping the decision takes
	full    func(l *limits.Limit) int64   // of varying size: the bytes that it comes to at its limit
	write   func(c *call, state []byte)   // of varying size: keep the decision
	valid   func(state []byte) bool       // of varying size: all offsets in it are within it
	release func(c *call) (released bool) // end a lease, in place

	mark      func(c *call) int64       // a mark of the part of the state that a grant counts in, such as its window; nil if there is but one
	unreserve func(c *call, mark int64) // settle: give tokens back to the part of a mark, or to Op.Who, in next or in place; nil if refund does

	hasLoans bool                                                        // its state is another one with loans
	charge   func(state []byte, l *limits.Limit, at int64, tokens int64) // of an algorithm with loans: take tokens at a time, in place, also those that are not available

	plain func(state []byte, now int64) []byte // of varying size: a copy of its contents, independent of the layout in memory

	detail func(c *call) // append what its state has beyond tokens to a Look, with Result.addDetail; nil if nothing
}

const variableHead = 4 // bytes of a state that varies that hold its size

// setVariableSize stores the size of a state that varies, in its first 4 bytes.
func setVariableSize(state []byte, size int) { binary.LittleEndian.PutUint32(state, uint32(size)) }
