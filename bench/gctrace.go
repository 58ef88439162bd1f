package main

import (
	"regexp"
	"strconv"
	"time"
)

// A gcCycle has the pauses of one line of GODEBUG=gctrace=1. Of the
// three wall-clock phases in
//
//	gc 7 @0.41s 2%: 0.018+1.2+0.003 ms clock, … 4->4->1 MB, …
//
// the first (sweep termination) and the third (mark termination) stop the world; the runtime starts each clock before
// it stops the goroutines, so the time to stop them is included. The phase between runs concurrently.
type gcCycle struct {
	SweepTermination time.Duration
	MarkTermination  time.Duration
	LiveHeapMB       int64 // marked live at the end of the cycle
}

// longest is the longer of the two stops. They are separate pauses: a
// request can be held up by one of them, not by their sum.
func (c gcCycle) longest() time.Duration { return max(c.SweepTermination, c.MarkTermination) }

var gcTraceLine = regexp.MustCompile(
	`^gc \d+ @[\d.]+s \d+%: ([\d.e+-]+?)\+([\d.e+-]+?)\+([\d.e+-]+?) ms clock,.* \d+->\d+->(\d+) MB`)

// parseGCTrace reads one line of a server's output; ok is false for any other line.
func parseGCTrace(line string) (c gcCycle, ok bool) {
	m := gcTraceLine.FindStringSubmatch(line)
	if m == nil {
		return gcCycle{}, false
	}
	sweep, err1 := strconv.ParseFloat(m[1], 64)
	mark, err2 := strconv.ParseFloat(m[3], 64)
	live, err3 := strconv.ParseInt(m[4], 10, 64)
	if err1 != nil || err2 != nil || err3 != nil {
		return gcCycle{}, false
	}
	return gcCycle{
		SweepTermination: milliseconds(sweep),
		MarkTermination:  milliseconds(mark),
		LiveHeapMB:       live,
	}, true
}

func milliseconds(ms float64) time.Duration {
	return time.Duration(ms * float64(time.Millisecond))
}
