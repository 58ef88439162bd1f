package engine

import (
	"bytes"
	"encoding/binary"
	"strconv"
	"time"

	"github.com/stintdb/stint/engine/rates"
)

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

// CanBeLent reports whether tokens of the algorithm's limiters can be set aside for holders. They cannot where a token must count
// from the moment that it is spent, or where a holder has a place or a name.
func (a Algorithm) CanBeLent() bool { return algorithms[a].lent != NoAlgorithm }

// Base is the algorithm itself, or that of a limiter with loans, or that at home of a tank.
func (a Algorithm) Base() Algorithm {
	row := &algorithms[a]
	switch {
	case row.base != NoAlgorithm:
		return row.base
	case row.home != NoAlgorithm:
		return row.home
	}
	return a
}

// IsValue reports whether keys of this kind hold data, and no limiter.
func (a Algorithm) IsValue() bool { return algorithms[a].value }

// Tank is the row of keys whose limit of this algorithm has its home elsewhere, [NoAlgorithm] if there is none.
func (a Algorithm) Tank() Algorithm {
	for i := range algorithms {
		if a != NoAlgorithm && algorithms[i].home == a {
			return Algorithm(i)
		}
	}
	return NoAlgorithm
}

// Home is the algorithm at home of a tank's row, [NoAlgorithm] of any other.
func (a Algorithm) Home() Algorithm { return algorithms[a].home }

// lentRow is the row of an algorithm's limiters with loans.
func lentRow(name string, base Algorithm, expired func([]byte, *Limit, int64) bool, rewind func([]byte, *Limit, int64), charge func([]byte, *Limit, int64, int64), params func(*Limit) []Param) algorithm {
	return algorithm{name: name, format: 2, base: base, rate: base != FixedWindow, params: params, rewind: rewindLent(rewind),
		need: func(c *call) int { return len(c.state) }, full: func(*Limit) int64 { return 0 },
		expired: func(state []byte, l *Limit, now int64) bool {
			var all loans
			var inner [maxLentState]byte
			if !all.read(state) {
				return true
			}
			copy(inner[:], state[lentInner:lentHead])
			all.end(now, func(at, tokens int64) { charge(inner[:], l, at, tokens) })
			return len(all.all) == 0 && expired(inner[:], l, now)
		},
		valid: func(state []byte) bool { return len(state) >= lentHead && new(loans).read(state) },
		plain: func(state []byte, _ int64) []byte { return bytes.TrimRight(bytes.Clone(state[4:]), "\x00") },
	}
}

// tankRow is the row of keys whose limit of an algorithm has its home elsewhere.
func tankRow(name string, home Algorithm, params func(*Limit) []Param) algorithm {
	return algorithm{name: name, format: 2, bytes: tankBytes, home: home, rate: home != FixedWindow, params: params,
		decide: decideTank, look: lookTank, rewind: rewindTimes(32), expired: func(state []byte, _ *Limit, _ int64) bool { return loadTank(state).Number == 0 }}
}

// isShort reports whether an operation takes little time, whatever its key holds.
func (o *Op) isShort() bool { return o.Verb == Acquire && algorithms[o.Limit.Algorithm].bytes != 0 }

// stateOf returns the state at the front of b.
func (a *algorithm) stateOf(b []byte) []byte {
	size := a.bytes
	if size == 0 {
		size = int(binary.LittleEndian.Uint32(b))
	}
	return b[:size:size]
}
