package algorithm

import (
	"github.com/stintdb/stint/engine/limits"
)

// Row is a row of the table: how an algorithm decides, and keeps its state. Its properties are in [limits.Algorithm].
type Row struct {
	Bytes   int                                                 // size of its state; 0 if that varies
	Decide  func(c *Call) (changed bool)                        // answer an Acquire
	Look    func(c *Call)                                       // report the state under c.limit
	Refund  func(c *Call)                                       // give back, in next or in place; nil if the algorithm has no refunds
	Expired func(state []byte, l *limits.Limit, now int64) bool // the state has expired: the limiter is at its full limit
	Rewind  func(state []byte, l *limits.Limit, by int64)       // make all times in the state earlier, in place: Store.Rewind in package store

	Need    func(c *Call) int             // of varying size: the bytes that keeping the decision takes
	Full    func(l *limits.Limit) int64   // of varying size: the bytes that it comes to at its limit
	Write   func(c *Call, state []byte)   // of varying size: keep the decision
	Valid   func(state []byte) bool       // of varying size: all offsets in it are within it
	Release func(c *Call) (released bool) // end a lease, in place

	Mark      func(c *Call) int64       // a mark of the part of the state that a grant counts in, such as its window; nil if there is but one
	Unreserve func(c *Call, mark int64) // settle: give tokens back to the part of a mark, or to Op.Who, in next or in place; nil if refund does

	Wraps  bool                                                        // its state is another one with loans and closed windows
	Charge func(state []byte, l *limits.Limit, at int64, tokens int64) // of an algorithm with loans: take tokens at a time, in place, also tokens that are not available

	Plain func(state []byte, now int64) []byte // of varying size: a copy of its contents, independent of the layout in memory

	Used     func(state []byte, l *limits.Limit, now int64) int64   // of an algorithm that warns: tokens taken, rounded up
	WarnedAt int                                                    // the byte of its state that has [layout.WarnedBit]
	Window   func(state []byte, l *limits.Limit) (start, end int64) // of one that counts in windows too: the present one

	Detail func(c *Call) // append what its state has beyond tokens to a Look, with Result.AddDetail; nil if nothing
}
