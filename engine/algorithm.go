package engine

import "encoding/binary"

// Algorithm names one way of limiting. The zero value is none.
type Algorithm uint8

// The algorithms. Their numbers are kept on disk and sent between nodes: new ones are added at the end.
const (
	NoAlgorithm   Algorithm = iota
	GCRA                    // CL.THROTTLE
	TokenBucket             // TB.ACQUIRE
	LeakyBucket             // LB.ACQUIRE
	LeakyQueue              // LB.QUEUE
	FixedWindow             // FW.ACQUIRE
	SlidingWindow           // SW.ACQUIRE
	SlidingLog              // SL.ACQUIRE
	Concurrency             // CC.ACQUIRE

	// Kinds of keys that hold data, and no limiter. They share the table, because a key is one or the other.
	StringValue
	HashValue
	SortedSetValue
	ListValue
	SetValue

	Reservation // a request that was granted with an id

	// Limiters with tokens set aside for holders: see [Loan].
	LentGCRA
	LentTokenBucket
	LentLeakyBucket
	LentFixedWindow

	// Keys whose limit has its home elsewhere: see [Tank].
	TankGCRA
	TankTokenBucket
	TankLeakyBucket
	TankFixedWindow

	FairShare // FS.ACQUIRE
	Class     // HT.ACQUIRE
	Adaptive  // AD.ACQUIRE
)

// algorithm is a row of the table: all properties of an algorithm that the store and its callers need.
type algorithm struct {
	name    string                                       // as TYPE answers
	format  uint32                                       // the version of the cluster's formats that added it; 0 for the first
	bytes   int                                          // size of its state; 0 if that varies
	keeps   bool                                         // Op.Keep applies to it
	who     bool                                         // it decides for the holder or member that Op.Who names
	weighs  bool                                         // Op.Weight applies to it
	least   bool                                         // its limit has a least rate too
	rate    bool                                         // its limit has a rate, tokens to a period; others have a period alone
	decide  func(c *call) (changed bool)                 // answer an Acquire
	look    func(c *call)                                // report the state under c.limit
	refund  func(c *call)                                // give back, in next or in place; nil if the algorithm has no refunds
	expired func(state []byte, l *Limit, now int64) bool // the state has expired: the limiter is at its full limit
	rewind  func(state []byte, l *Limit, by int64)       // make all times in the state earlier, in place: [Store.Rewind]
	params  func(l *Limit) []Param                       // its parameters as its command names them

	need    func(c *call) int             // of varying size: the bytes that keeping the decision takes
	full    func(l *Limit) int64          // of varying size: the bytes that it comes to at its limit
	write   func(c *call, state []byte)   // of varying size: keep the decision
	valid   func(state []byte) bool       // of varying size: all offsets in it are within it
	release func(c *call) (released bool) // end a lease, in place

	mark      func(c *call) int64       // a mark of the part of the state that a grant counts in, such as its window; nil if there is but one
	unreserve func(c *call, mark int64) // settle: give tokens back to the part of a mark, or to Op.Who, in next or in place; nil if refund does

	lent   Algorithm                                            // the row of its limiters with loans; NoAlgorithm if it has none
	base   Algorithm                                            // of limiters with loans: the algorithm
	charge func(state []byte, l *Limit, at int64, tokens int64) // of an algorithm with loans: take tokens at a time, in place, also those that are not available

	home Algorithm // of a tank: the algorithm of the limit at home

	plain func(state []byte, now int64) []byte // of varying size: a copy of its contents, independent of the layout in memory

	detail func(c *call) // append what its state has beyond tokens to a Look, with Result.addDetail; nil if nothing

	value bool // no algorithm, but a kind of data ([Value]); it decides nothing
}

const variableHead = 4 // bytes of a state that varies that hold its size

// setVariableSize stores the size of a state that varies, in its first 4 bytes.
func setVariableSize(state []byte, size int) { binary.LittleEndian.PutUint32(state, uint32(size)) }

// Param is one parameter of a limit as [Limit.Params] reports it.
type Param struct {
	Name string
	Text string
}
