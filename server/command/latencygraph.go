package command

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stintdb/stint/server/resp"
)

const (
	graphRows = 4
	// graphColumns is how many of the latest seconds of an event a graph shows, as in Redis.
	graphColumns = 80
)

// runLatencyGraph draws when an event took how long: a column for each second in which it was beyond the threshold, and
// below it, to be read downwards, how long ago that was.
func runLatencyGraph(s Session, w *resp.Writer, args [][]byte) {
	event := strings.ToLower(string(args[2]))
	history := s.Server().Observer().SpikeHistory(event)
	if len(history) == 0 {
		w.Error(fmt.Sprintf("ERR No samples available for event '%s'", clip(args[2], 64)))
		return
	}
	longest := int64(0)
	for _, e := range s.Server().Observer().Spikes() {
		if e.Event == event {
			longest = e.Longest
		}
	}
	w.Verbatim(latencyGraph(event, history, longest, s.Server().Now()/1e9))
}

func latencyGraph(event string, history []Spike, longest, nowSec int64) string {
	history = history[max(0, len(history)-graphColumns):]
	byMillis := func(a, b Spike) int { return int(a.Millis - b.Millis) }
	high, low := slices.MaxFunc(history, byMillis).Millis, slices.MinFunc(history, byMillis).Millis
	var out strings.Builder
	fmt.Fprintf(&out, "%s - high %d ms, low %d ms (all time high %d ms)\n%s\n", event, high, low, max(longest, high), strings.Repeat("-", graphColumns))
	rows := make([][]byte, graphRows)
	for i := range rows {
		rows[i] = []byte(strings.Repeat(" ", len(history)))
	}
	ages, deepest := make([]string, len(history)), 0
	for column, spike := range history {
		top := graphRows - 1 // the lowest is on the ground
		if high > low {
			top = graphRows - 1 - int((spike.Millis-low)*(graphRows-1)/(high-low))
		}
		for row := top; row < graphRows; row++ {
			rows[row][column] = '|'
		}
		rows[top][column] = '#'
		if top == graphRows-1 {
			rows[top][column] = '_'
		}
		ages[column] = age(nowSec - spike.UnixSec)
		deepest = max(deepest, len(ages[column]))
	}
	for _, row := range rows {
		out.Write(append(row, '\n'))
	}
	out.WriteByte('\n')
	for depth := range deepest {
		for _, a := range ages {
			if depth < len(a) {
				out.WriteByte(a[depth])
			} else {
				out.WriteByte(' ')
			}
		}
		out.WriteByte('\n')
	}
	return out.String()
}

// age is a number of seconds in the largest unit it fills.
func age(sec int64) string {
	sec = max(0, sec)
	for _, u := range []struct {
		sec  int64
		name string
	}{{86400, "d"}, {3600, "h"}, {60, "m"}} {
		if sec >= u.sec {
			return fmt.Sprint(sec/u.sec, u.name)
		}
	}
	return fmt.Sprint(sec, "s")
}
