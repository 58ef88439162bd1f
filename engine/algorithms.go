package engine

import (
	"encoding/binary"
	"strconv"
	"time"

	"github.com/stintdb/stint/engine/rates"
)

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

var algorithms = [...]algorithm{
	NoAlgorithm: {name: "none"},
	GCRA: {name: "gcra", bytes: meterBytes, rate: true, keeps: true,
		decide: decideMeter, look: lookMeter, refund: refundMeter, expired: meterExpired, rewind: rewindTimes(0), lent: LentGCRA, charge: chargeMeter, params: gcraParams},
	TokenBucket: {name: "token-bucket", bytes: meterBytes, rate: true, keeps: true,
		decide: decideMeter, look: lookMeter, refund: refundMeter, expired: meterExpired, rewind: rewindTimes(0), lent: LentTokenBucket, charge: chargeMeter, params: bucketParams},
	LeakyBucket: {name: "leaky-bucket", bytes: meterBytes, rate: true, keeps: true,
		decide: decideMeter, look: lookMeter, refund: refundMeter, expired: meterExpired, rewind: rewindTimes(0), lent: LentLeakyBucket, charge: chargeMeter, params: bucketParams},
	LeakyQueue: {name: "leaky-queue", bytes: meterBytes, rate: true,
		decide: decideQueue, look: lookMeter, refund: refundMeter, expired: meterExpired, rewind: rewindTimes(0), params: queueParams},
	FixedWindow: {name: "fixed-window", bytes: windowBytes, keeps: true,
		decide: decideWindow, look: lookWindow, refund: refundWindow, mark: markWindow, unreserve: unreserveWindow, expired: windowExpired, rewind: rewindTimes(0, 8), lent: LentFixedWindow, charge: chargeWindow, params: windowParams},
	SlidingWindow: {name: "sliding-window", bytes: windowPairBytes, keeps: true,
		decide: decideSliding, look: lookSliding, refund: refundSliding, mark: markSliding, unreserve: unreserveSliding, expired: slidingExpired, rewind: rewindSliding, params: windowParams},
	SlidingLog: {name: "sliding-log", keeps: true,
		decide: decideLog, look: lookLog, refund: refundLog, mark: (*call).timeOfGrant, unreserve: unreserveLog, expired: logExpired, rewind: rewindLog, params: windowParams,
		need: needLog, full: fullLog, write: writeLog, valid: validLog, plain: plainLog},
	Concurrency: {name: "concurrency", who: true,
		decide: decideLease, look: lookLeases, expired: leasesExpired, rewind: rewindLeases, params: leaseParams,
		need: needLeases, full: fullLeases, write: writeLeases, valid: validLeases, release: releaseLease,
		plain: plainLeases},
	StringValue:    stringKind,
	HashValue:      hashKind,
	SortedSetValue: sortedSetKind,
	ListValue:      listKind,
	SetValue:       setKind,
	Reservation: {name: "reservation", format: 2,
		look: lookReservation, expired: reservationExpired, rewind: rewindTimes(4), params: reservationParams, need: needReservation, full: func(*Limit) int64 { return 0 },
		write: writeReservation, valid: validReservation, plain: plainReservation},
	LentGCRA:        lentRow("gcra", GCRA, meterExpired, rewindTimes(0), chargeMeter, gcraParams),
	LentTokenBucket: lentRow("token-bucket", TokenBucket, meterExpired, rewindTimes(0), chargeMeter, bucketParams),
	LentLeakyBucket: lentRow("leaky-bucket", LeakyBucket, meterExpired, rewindTimes(0), chargeMeter, bucketParams),
	LentFixedWindow: lentRow("fixed-window", FixedWindow, windowExpired, rewindTimes(0, 8), chargeWindow, windowParams),
	TankGCRA:        tankRow("gcra", GCRA, gcraParams),
	TankTokenBucket: tankRow("token-bucket", TokenBucket, bucketParams),
	TankLeakyBucket: tankRow("leaky-bucket", LeakyBucket, bucketParams),
	TankFixedWindow: tankRow("fixed-window", FixedWindow, windowParams),
	FairShare: {name: "fair-share", format: 2, rate: true, who: true, weighs: true,
		decide: decideShare, look: lookShare, unreserve: unreserveShare, expired: sharesExpired, rewind: rewindTimes(16, 32), params: bucketParams,
		need: needShares, full: fullShares, write: writeShares, valid: validShares, plain: plainShares, detail: detailShares},
	Class: {name: "htb-class", format: 2, rate: true,
		decide: decideClass, look: lookClass, refund: refundClass, mark: markClass, unreserve: unreserveClass, expired: classExpired, rewind: rewindClass, params: bucketParams,
		need: needClass, full: fullClass, write: writeClass, valid: validClass, plain: plainClass, detail: detailClass},
	Adaptive: {name: "rate-adaptive", format: 2, bytes: adaptiveBytes, rate: true, least: true,
		decide: decideAdaptive, look: lookAdaptive, refund: refundAdaptive, expired: adaptiveExpired, rewind: rewindTimes(0, 24, pauseOffset, usedAtOffset), params: adaptiveParams, detail: detailAdaptive},
}

// String is the algorithm's name as TYPE answers it, such as token-bucket.
func (a Algorithm) String() string { return algorithms[a].name }

// Algorithms lists all algorithms of limiters.
func Algorithms() (all []Algorithm) {
	return rows(func(row *algorithm) bool { return row.decide != nil && row.home == NoAlgorithm })
}

// ValueKinds lists the kinds of keys that hold data.
func ValueKinds() (all []Algorithm) {
	return rows(func(row *algorithm) bool { return row.value })
}

func rows(has func(row *algorithm) bool) (all []Algorithm) {
	for a := NoAlgorithm + 1; int(a) < len(algorithms); a++ {
		if has(&algorithms[a]) {
			all = append(all, a)
		}
	}
	return all
}

// Known reports whether the number is that of an algorithm of this version, or [NoAlgorithm].
func (a Algorithm) Known() bool { return int(a) < len(algorithms) }

// Keeps reports whether [Op.Keep] applies to the algorithm.
func (a Algorithm) Keeps() bool { return algorithms[a].keeps }

// NeedsWho reports whether the algorithm decides for a holder or a member, which Op.Who names.
func (a Algorithm) NeedsWho() bool { return a.Known() && algorithms[a].who }

// HasLeast reports whether the algorithm's limits have a [Limit.Least].
func (a Algorithm) HasLeast() bool { return a.Known() && algorithms[a].least }

// Weighs reports whether [Op.Weight] applies to the algorithm.
func (a Algorithm) Weighs() bool { return a.Known() && algorithms[a].weighs }

// Format is the version of the cluster's formats that added the algorithm, 0 for the first.
func (a Algorithm) Format() uint32 { return algorithms[a].format }

const variableHead = 4 // bytes of a state that varies that hold its size

// setVariableSize stores the size of a state that varies, in its first 4 bytes.
func setVariableSize(state []byte, size int) { binary.LittleEndian.PutUint32(state, uint32(size)) }

// Param is one parameter of a limit as [Limit.Params] reports it.
type Param struct {
	Name string
	Text string
}

// Params lists the limit's parameters by the names its command gives them.
func (l Limit) Params() []Param { return algorithms[l.Algorithm].params(&l) }

func gcraParams(l *Limit) []Param {
	return []Param{
		{"max_burst", strconv.FormatInt(l.Capacity-1, 10)},
		{"count", strconv.FormatInt(l.Rate.Tokens, 10)},
		{"period", strconv.FormatInt(l.Rate.Period/int64(time.Second), 10)},
	}
}

func bucketParams(l *Limit) []Param {
	return []Param{{"capacity", strconv.FormatInt(l.Capacity, 10)}, {"rate", l.Rate.String()}}
}

func queueParams(l *Limit) []Param {
	return []Param{{"capacity", strconv.FormatInt(l.Capacity-1, 10)}, {"rate", l.Rate.String()}}
}

func windowParams(l *Limit) []Param {
	return []Param{{"limit", strconv.FormatInt(l.Capacity, 10)}, {"window", rates.FormatWindow(l.Span, l.Rate.Period)}}
}

func leaseParams(l *Limit) []Param {
	return []Param{{"limit", strconv.FormatInt(l.Capacity, 10)}, {"ttl", rates.FormatDuration(l.Rate.Period)}}
}
