package algorithm

import (
	"bytes"
	"encoding/binary"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/balance"
	"github.com/stintdb/stint/engine/layout"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/penalty"
	"github.com/stintdb/stint/engine/purse"
	"github.com/stintdb/stint/engine/reservation"
)

// Table has a row for each algorithm.
var Table = [limits.AlgorithmCount]Row{
	limits.NoAlgorithm: {},
	limits.GCRA: {Bytes: layout.MeterBytes,
		Decide: decideMeter, Look: lookMeter, Refund: refundMeter, Expired: meterExpired, Rewind: rewindTimes(0), Charge: chargeMeter, Used: usedOfMeter, WarnedAt: meterWarnedAt},
	limits.TokenBucket: {Bytes: layout.MeterBytes,
		Decide: decideMeter, Look: lookMeter, Refund: refundMeter, Expired: meterExpired, Rewind: rewindTimes(0), Charge: chargeMeter, Used: usedOfMeter, WarnedAt: meterWarnedAt},
	limits.LeakyBucket: {Bytes: layout.MeterBytes,
		Decide: decideMeter, Look: lookMeter, Refund: refundMeter, Expired: meterExpired, Rewind: rewindTimes(0), Charge: chargeMeter, Used: usedOfMeter, WarnedAt: meterWarnedAt},
	limits.LeakyQueue: {Bytes: layout.MeterBytes,
		Decide: decideQueue, Look: lookMeter, Refund: refundMeter, Expired: meterExpired, Rewind: rewindTimes(0), Used: usedOfMeter, WarnedAt: meterWarnedAt},
	limits.FixedWindow: {Bytes: windowBytes,
		Decide: decideWindow, Look: lookWindow, Refund: refundWindow, Mark: markWindow, Unreserve: unreserveWindow, Expired: windowExpired, Rewind: rewindTimes(0, 8), Charge: chargeWindow,
		Used: usedOfWindow, WarnedAt: windowBytes - 1, Window: spanOfWindow},
	limits.SlidingWindow: {Bytes: layout.WindowPairBytes,
		Decide: decideSliding, Look: lookSliding, Refund: refundSliding, Mark: markSliding, Unreserve: unreserveSliding, Expired: slidingExpired, Rewind: rewindSliding,
		Used: usedOfSliding, WarnedAt: layout.WindowPairBytes - 1, Window: spanOfSliding},
	limits.SlidingLog: {
		Decide: decideLog, Look: lookLog, Refund: refundLog, Mark: timeOfGrant, Unreserve: unreserveLog, Expired: logExpired, Rewind: rewindLog,
		Need: needLog, Full: FullLog, Write: writeLog, Valid: validLog, Plain: plainLog,
		Used: usedOfLog, WarnedAt: layout.LogWarnedAt},
	limits.SlidingSegments: {
		Decide: decideSegments, Look: lookSegments, Refund: refundSegments, Mark: markSegments, Unreserve: unreserveSegments, Expired: segmentsExpired, Rewind: rewindSegments,
		Need: needSegments, Full: fullSegments, Write: writeSegments, Valid: layout.ValidSegments, Plain: plainSegments,
		Used: usedOfSegments, WarnedAt: layout.SegmentsWarnedAt},
	limits.Concurrency: {
		Decide: decideLease, Look: lookLeases, Expired: leasesExpired, Rewind: rewindLeases,
		Need: needLeases, Full: FullLeases, Write: writeLeases, Valid: layout.ValidLeases, Release: releaseLease,
		Plain: layout.PlainLeases, Used: usedOfLeases, WarnedAt: layout.LeasesWarnedAt},
	limits.StringValue:    stringKind,
	limits.HashValue:      hashKind,
	limits.SortedSetValue: sortedSetKind,
	limits.ListValue:      listKind,
	limits.SetValue:       setKind,
	limits.GCRAValue:      gcraKind,
	limits.StreamValue:    streamKind,
	limits.Reservation: {
		Look: lookReservation, Expired: reservationExpired, Rewind: rewindTimes(4), Need: NeedReservation, Full: func(*limits.Limit) int64 { return 0 },
		Write: writeReservation, Valid: reservation.Valid, Plain: reservation.Plain},
	limits.LentGCRA:           wrappingRow(meterExpired, rewindTimes(0), chargeMeter),
	limits.LentTokenBucket:    wrappingRow(meterExpired, rewindTimes(0), chargeMeter),
	limits.LentLeakyBucket:    wrappingRow(meterExpired, rewindTimes(0), chargeMeter),
	limits.LentFixedWindow:    wrappingRow(windowExpired, rewindTimes(0, 8), chargeWindow),
	limits.HistoryFixedWindow: wrappingRow(windowExpired, rewindTimes(0, 8), chargeWindow),
	limits.PurseGCRA:          purseRow,
	limits.PurseTokenBucket:   purseRow,
	limits.PurseLeakyBucket:   purseRow,
	limits.PurseFixedWindow:   purseRow,
	limits.FairShare: {
		Decide: decideShare, Look: lookShare, Unreserve: unreserveShare, Expired: sharesExpired, Rewind: rewindTimes(16, 32),
		Need: needShares, Full: fullShares, Write: writeShares, Valid: layout.ValidShares, Plain: plainShares, Detail: detailShares},
	limits.Class: {
		Decide: decideClass, Look: lookClass, Refund: refundClass, Mark: markClass, Unreserve: unreserveClass, Expired: classExpired, Rewind: rewindClass,
		Need: needClass, Full: fullClass, Write: writeClass, Valid: validClass, Plain: plainClass, Detail: detailClass},
	limits.Balance: {
		Decide: decideBalance, Look: lookBalance, Refund: refundBalance, Mark: markBalance, Unreserve: unreserveBalance, Expired: balance.Expired, Rewind: balance.Rewind,
		Need: needBalance, Full: func(*limits.Limit) int64 { return 0 }, Write: writeReservation, Valid: balance.Valid, Plain: balance.Plain},
	limits.Penalty: {Bytes: penalty.Bytes, Expired: penalty.Expired, Rewind: rewindTimes(penalty.UntilAt, penalty.SinceAt),
		Decide: func(c *Call) bool { return penalty.Decide(c.State, &c.Limit, c.Now, c.Result) },
		Look:   func(c *Call) { penalty.Look(c.State, &c.Limit, c.Now, c.Result) },
		Detail: func(c *Call) { penalty.Detail(c.State, &c.Limit, c.Now, c.Result) }},
	limits.Adaptive: {Bytes: adaptiveBytes,
		Decide: decideAdaptive, Look: lookAdaptive, Refund: refundAdaptive, Expired: adaptiveExpired, Rewind: rewindTimes(0, 24, pauseOffset, usedAtOffset), Detail: detailAdaptive},
}

// wrappingRow is the row of an algorithm's limiters with loans or closed windows.
func wrappingRow(expired func([]byte, *limits.Limit, int64) bool, rewind func([]byte, *limits.Limit, int64), charge func([]byte, *limits.Limit, int64, int64)) Row {
	return Row{Wraps: true, Rewind: rewindWrapped(rewind),
		Need: func(c *Call) int { return len(c.State) }, Full: func(*limits.Limit) int64 { return 0 },
		Expired: func(state []byte, l *limits.Limit, now int64) bool {
			var all layout.Loans
			var inner [layout.MaxLentState]byte
			history, ok := all.Read(state)
			if !ok {
				return true
			}
			copy(inner[:], state[layout.WrappedAt:layout.WrappingHead])
			all.End(now, func(at, tokens int64) { charge(inner[:], l, at, tokens) })
			return len(all.All) == 0 && expired(inner[:], l, now) && now >= forgottenAt(inner[:], l, &history)
		},
		Valid: func(state []byte) bool {
			if len(state) < layout.WrappingHead {
				return false
			}
			var all layout.Loans
			_, ok := all.Read(state)
			return ok && all.AreDistinct()
		},
		Plain: func(state []byte, _ int64) []byte { return bytes.TrimRight(bytes.Clone(state[4:]), "\x00") },
	}
}

// purseRow is the row of keys whose limit of an algorithm has its home elsewhere.
var purseRow = Row{Bytes: purse.Bytes, Decide: decidePurse, Look: lookPurse, Rewind: rewindTimes(32), Mark: markPurse, Unreserve: unreservePurse,
	Expired: func(state []byte, _ *limits.Limit, _ int64) bool { return purse.Load(state).Number == 0 }}

// IsShort reports whether an operation takes little time, whatever its key holds.
func IsShort(o *engine.Op) bool {
	return o.Verb == engine.Acquire && Table[o.Limit.Algorithm].Bytes != 0
}

// StateOf returns the state at the front of b.
func (a *Row) StateOf(b []byte) []byte {
	size := a.Bytes
	if size == 0 {
		size = int(binary.LittleEndian.Uint32(b))
	}
	return b[:size:size]
}
