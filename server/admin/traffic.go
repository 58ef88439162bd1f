package admin

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/stintdb/stint/internal/clusterstatus"
	"github.com/stintdb/stint/server"
)

// The charts show five minutes, a span a second, and a day, a span a minute: 42 KB for a node.
const (
	trafficNodes  = 32               // further nodes are in no sum, and named
	reportsApart  = 10 * time.Second // nothing is known of a node between reports further apart
	reportsLate   = 3 * time.Second  // other nodes are asked once a second, and count once a second
	spanKnownFrom = 10 * time.Second // of a longer span, for it to be shown
)

// traffic is the decisions of each node of the cluster, or of a server alone, over time. A node reports its totals; the difference of two
// reports is spread over the spans between them, so that late reports make no dip.
type traffic struct {
	mu      sync.Mutex
	looked  int64 // the last time
	last    map[string]clusterstatus.Totals
	seconds spans
	minutes spans
}

func newTraffic() *traffic {
	return &traffic{last: map[string]clusterstatus.Totals{}, seconds: newSpans(time.Second, historySize), minutes: newSpans(time.Minute, daySize)}
}

// look takes in the last reports of all members at a time, in nanoseconds since the Unix epoch; nil stands for no report.
func (t *traffic) look(now int64, members map[string]*clusterstatus.Totals) {
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

// take takes in a node's decisions between two reports, unless it began again or was not heard of in between.
func (t *traffic) take(node string, now int64, before, after *clusterstatus.Totals) {
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

// point is the decisions of one node or all nodes in a span of time.
type point struct {
	At      int64    `json:"at"`      // when it begins, in seconds since the Unix epoch
	Nodes   int      `json:"nodes"`   // that are in the sum
	Granted float64  `json:"granted"` // a second
	Denied  float64  `json:"denied"`
	Median  float64  `json:"median"` // latency in seconds at the node where it is longest; 0 without commands
	Tail    float64  `json:"tail"`
	Without []string `json:"without,omitempty"` // members that are not in the sum
}

// points are those that begin later than some second, of one node, or with "" of all.
func (t *traffic) points(all *spans, after int64, node string) []point {
	t.mu.Lock()
	defer t.mu.Unlock()
	if after > t.looked/int64(time.Second) {
		after = 0 // of another server
	}
	settled := t.looked
	if len(all.nodes) > 1 {
		settled -= int64(reportsLate)
	}
	return all.points(settled, after, node)
}

// members are the last reports of all members of the cluster, or that of a server alone, whose name is "".
func (a *Admin) members(s *server.Server) map[string]*clusterstatus.Totals {
	all := map[string]*clusterstatus.Totals{}
	if cluster := s.Membership(); cluster != nil {
		for _, m := range cluster.Status().Members {
			if all[m.ID] = nil; m.Report != nil {
				all[m.ID] = m.Report.Totals
			}
		}
		return all
	}
	all[""] = a.Report().Totals
	return all
}
