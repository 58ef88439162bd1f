// Package traffic adds up the decisions of all nodes of a cluster over time, for the charts of the operators' page.
package traffic

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/stintdb/stint/internal/clusterstatus"
)

// The charts show five minutes in spans of a second, and a day in spans of a minute. A node takes 42 KB.
const (
	secondsKept = 300
	minutesKept = 24 * 60

	mostNodes     = 32               // further nodes are named, but not added up
	reportsApart  = 10 * time.Second // if two reports are further apart, nothing is known about the time in between
	reportsLate   = 3 * time.Second  // other nodes are asked once a second, and count once a second
	spanKnownFrom = 10 * time.Second // how much of a longer span must have passed before it is shown
)

// Traffic is the decisions of each node of a cluster, or of a standalone server, over time. A node reports its totals;
// the difference of two reports is spread evenly over the spans between them, so that a late report makes no dip.
type Traffic struct {
	mu      sync.Mutex
	looked  int64 // when Look was last called
	last    map[string]clusterstatus.Totals
	seconds spans
	minutes spans
}

// New returns an empty Traffic.
func New() *Traffic {
	return &Traffic{last: map[string]clusterstatus.Totals{}, seconds: newSpans(time.Second, secondsKept), minutes: newSpans(time.Minute, minutesKept)}
}

// Look records the last reports of all members, nil for a member without a report. now is in nanoseconds since the Unix
// epoch.
func (t *Traffic) Look(now int64, members map[string]*clusterstatus.Totals) {
	t.mu.Lock()
	defer t.mu.Unlock()
	from := now
	if now-t.looked < int64(reportsApart) {
		from = t.looked
	}
	t.looked = max(t.looked, now)
	maps.DeleteFunc(t.last, func(node string, _ clusterstatus.Totals) bool { _, is := members[node]; return !is })
	names := slices.Sorted(maps.Keys(members))
	for _, all := range []*spans{&t.seconds, &t.minutes} {
		all.turn(now)
		maps.DeleteFunc(all.beyond, func(node string, _ int64) bool { _, is := members[node]; return !is })
		for _, node := range names {
			all.expect(node, from, now)
		}
	}
	for _, node := range names {
		if after := members[node]; after != nil {
			before := t.last[node]
			t.last[node] = *after
			t.take(node, now, &before, after)
		}
	}
}

// take records a node's decisions between two reports, unless it restarted or was not heard from in between.
func (t *Traffic) take(node string, now int64, before, after *clusterstatus.Totals) {
	passed := after.At - before.At
	if passed <= 0 || passed > int64(reportsApart) || now-after.At > int64(reportsApart) || after.At-now > int64(reportsApart) ||
		after.Granted < before.Granted || after.Denied < before.Denied {
		return
	}
	granted, denied := float64(after.Granted-before.Granted)/float64(passed), float64(after.Denied-before.Denied)/float64(passed)
	for _, all := range []*spans{&t.seconds, &t.minutes} {
		all.each(node, before.At, after.At, func(s *span, nanos int64) {
			s.covered += float32(nanos)
			s.granted += float32(granted * float64(nanos))
			s.denied += float32(denied * float64(nanos))
		})
	}
	t.seconds.each(node, before.At, after.At, func(s *span, _ int64) { s.keepLongest(after.Median, after.Tail) })
	if middle := after.MinuteAt - int64(time.Minute/2); after.MinuteAt != before.MinuteAt {
		t.minutes.each(node, middle, middle+1, func(s *span, _ int64) { s.keepLongest(after.MinuteMedian, after.MinuteTail) })
	}
}

// Point is the decisions of one node or of all nodes in a span of time.
type Point struct {
	At      int64    `json:"at"`      // when the span begins, in seconds since the Unix epoch
	Nodes   int      `json:"nodes"`   // the number of nodes that are added up
	Granted float64  `json:"granted"` // per second
	Denied  float64  `json:"denied"`  // per second
	Median  float64  `json:"median"`  // latency in seconds at the slowest node; 0 without commands
	Tail    float64  `json:"tail"`
	Without []string `json:"without,omitempty"` // members that are not included
}

// Seconds returns the points of the last five minutes that begin later than a second, of one node, or of all nodes if
// node is "".
func (t *Traffic) Seconds(after int64, node string) []Point { return t.points(&t.seconds, after, node) }

// Minutes returns the points of the last day, of one node, or of all nodes if node is "".
func (t *Traffic) Minutes(node string) []Point { return t.points(&t.minutes, 0, node) }

func (t *Traffic) points(all *spans, after int64, node string) []Point {
	t.mu.Lock()
	defer t.mu.Unlock()
	if after > t.looked/int64(time.Second) {
		after = 0 // it is the time of another server
	}
	settled := t.looked
	if len(all.nodes) > 1 {
		settled -= int64(reportsLate)
	}
	return all.points(settled, after, node)
}
