package store

import (
	"bytes"
	"encoding/binary"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
)

// algorithms has a row for each algorithm.
var algorithms = [limits.AlgorithmCount]algorithm{
	limits.NoAlgorithm: {},
	limits.GCRA: {bytes: meterBytes,
		decide: decideMeter, look: lookMeter, refund: refundMeter, expired: meterExpired, rewind: rewindTimes(0), charge: chargeMeter},
	limits.TokenBucket: {bytes: meterBytes,
		decide: decideMeter, look: lookMeter, refund: refundMeter, expired: meterExpired, rewind: rewindTimes(0), charge: chargeMeter},
	limits.LeakyBucket: {bytes: meterBytes,
		decide: decideMeter, look: lookMeter, refund: refundMeter, expired: meterExpired, rewind: rewindTimes(0), charge: chargeMeter},
	limits.LeakyQueue: {bytes: meterBytes,
		decide: decideQueue, look: lookMeter, refund: refundMeter, expired: meterExpired, rewind: rewindTimes(0)},
	limits.FixedWindow: {bytes: windowBytes,
		decide: decideWindow, look: lookWindow, refund: refundWindow, mark: markWindow, unreserve: unreserveWindow, expired: windowExpired, rewind: rewindTimes(0, 8), charge: chargeWindow},
	limits.SlidingWindow: {bytes: windowPairBytes,
		decide: decideSliding, look: lookSliding, refund: refundSliding, mark: markSliding, unreserve: unreserveSliding, expired: slidingExpired, rewind: rewindSliding},
	limits.SlidingLog: {
		decide: decideLog, look: lookLog, refund: refundLog, mark: (*call).timeOfGrant, unreserve: unreserveLog, expired: logExpired, rewind: rewindLog,
		need: needLog, full: fullLog, write: writeLog, valid: validLog, plain: plainLog},
	limits.Concurrency: {
		decide: decideLease, look: lookLeases, expired: leasesExpired, rewind: rewindLeases,
		need: needLeases, full: fullLeases, write: writeLeases, valid: validLeases, release: releaseLease,
		plain: plainLeases},
	limits.StringValue:    stringKind,
	limits.HashValue:      hashKind,
	limits.SortedSetValue: sortedSetKind,
	limits.ListValue:      listKind,
	limits.SetValue:       setKind,
	limits.Reservation: {
		look: lookReservation, expired: reservationExpired, rewind: rewindTimes(4), need: needReservation, full: func(*limits.Limit) int64 { return 0 },
		write: writeReservation, valid: validReservation, plain: plainReservation},
	limits.LentGCRA:        lentRow(meterExpired, rewindTimes(0), chargeMeter),
	limits.LentTokenBucket: lentRow(meterExpired, rewindTimes(0), chargeMeter),
	limits.LentLeakyBucket: lentRow(meterExpired, rewindTimes(0), chargeMeter),
	limits.LentFixedWindow: lentRow(windowExpired, rewindTimes(0, 8), chargeWindow),
	limits.TankGCRA:        tankRow,
	limits.TankTokenBucket: tankRow,
	limits.TankLeakyBucket: tankRow,
	limits.TankFixedWindow: tankRow,
	limits.FairShare: {
		decide: decideShare, look: lookShare, unreserve: unreserveShare, expired: sharesExpired, rewind: rewindTimes(16, 32),
		need: needShares, full: fullShares, write: writeShares, valid: validShares, plain: plainShares, detail: detailShares},
	limits.Class: {
		decide: decideClass, look: lookClass, refund: refundClass, mark: markClass, unreserve: unreserveClass, expired: classExpired, rewind: rewindClass,
		need: needClass, full: fullClass, write: writeClass, valid: validClass, plain: plainClass, detail: detailClass},
	limits.Adaptive: {bytes: adaptiveBytes,
		decide: decideAdaptive, look: lookAdaptive, refund: refundAdaptive, expired: adaptiveExpired, rewind: rewindTimes(0, 24, pauseOffset, usedAtOffset), detail: detailAdaptive},
}

// lentRow is the row of an algorithm's limiters with loans.
func lentRow(expired func([]byte, *limits.Limit, int64) bool, rewind func([]byte, *limits.Limit, int64), charge func([]byte, *limits.Limit, int64, int64)) algorithm {
	return algorithm{hasLoans: true, rewind: rewindLent(rewind),
		need: func(c *call) int { return len(c.state) }, full: func(*limits.Limit) int64 { return 0 },
		expired: func(state []byte, l *limits.Limit, now int64) bool {
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
var tankRow = algorithm{bytes: engine.TankBytes, decide: decideTank, look: lookTank, rewind: rewindTimes(32),
	expired: func(state []byte, _ *limits.Limit, _ int64) bool { return engine.LoadTank(state).Number == 0 }}

// isShort reports whether an operation takes little time, whatever its key holds.
func isShort(o *engine.Op) bool {
	return o.Verb == engine.Acquire && algorithms[o.Limit.Algorithm].bytes != 0
}

// stateOf returns the state at the front of b.
func (a *algorithm) stateOf(b []byte) []byte {
	size := a.bytes
	if size == 0 {
		size = int(binary.LittleEndian.Uint32(b))
	}
	return b[:size:size]
}
