package algorithm

import (
	"bytes"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/layout"
	"github.com/stintdb/stint/engine/limits"
)

func segmentsUnder(c *Call, l *limits.Limit) layout.Segments {
	return layout.LoadSegments(c.State, &c.Prev, l, c.Now)
}

func decideSegments(c *Call) (changed bool) {
	s := segmentsUnder(c, &c.Limit)
	granted, ok := grantCounted(c, s.Used())
	if !ok {
		if c.Result.Status == engine.OK && c.Result.Wait != engine.NeverWait {
			c.Result.Wait = s.Until(c.grantable()-c.leastAsked()) - c.Now
		}
		reportSegments(c, &s, false)
		return false
	}
	s.Add(granted)
	reportSegments(c, &s, c.Op.Options&engine.Force != 0)
	return granted > 0
}

func reportSegments(c *Call, s *layout.Segments, showDebt bool) {
	used := s.Used()
	reportCount(c, used, c.Limit.Capacity, showDebt)
	if c.Result.Reset = 0; used > 0 {
		c.Result.Reset = s.Until(0) - c.Now
	}
}

func lookSegments(c *Call) {
	s := segmentsUnder(c, &c.Limit)
	reportSegments(c, &s, c.Op.Verb == engine.Look)
}

func needSegments(c *Call) int { return layout.SegmentsBytes(c.Limit.Segments) }

func fullSegments(l *limits.Limit) int64 { return int64(layout.SegmentsBytes(l.Segments)) }

func writeSegments(c *Call, state []byte) {
	s := layout.LoadSegments(state, &c.Prev, &c.Limit, c.Now)
	s.Add(c.Result.Granted)
	s.Store(state)
}

func refundSegments(c *Call) {
	s := segmentsUnder(c, &c.Prev)
	c.Result.Granted = s.TakeNewest(c.Op.Tokens)
	s.Store(c.State)
	reportSegments(c, &s, true)
}

func markSegments(c *Call) int64 { return segmentsUnder(c, &c.Limit).Start }

func unreserveSegments(c *Call, start int64) {
	s := segmentsUnder(c, &c.Prev)
	c.Result.Granted = s.TakeAt(start, c.Op.Tokens)
	s.Store(c.State)
}

func usedOfSegments(state []byte, l *limits.Limit, now int64) int64 {
	s := layout.LoadSegments(state, l, l, now)
	return s.Used()
}

func segmentsExpired(state []byte, l *limits.Limit, now int64) bool {
	return usedOfSegments(state, l, now) == 0
}

// plainSegments leaves out the room of more segments, which an earlier limit may have had.
func plainSegments(state []byte, _ int64) []byte {
	return bytes.TrimRight(bytes.Clone(state[layout.VariableHead:]), "\x00")
}

// rewindSegments has the segments begin at a multiple of their width, like all others: at the next one.
func rewindSegments(state []byte, l *limits.Limit, by int64) {
	turnBack(state, by-layout.FloorMod(by, l.Segment()), 8)
}
