package traffic

import (
	"maps"
	"math"
	"slices"
	"time"
)

// span counts a node's decisions in a span of time, as far as they are known.
type span struct {
	member          bool    // the node was a member of the cluster
	covered         float32 // how many nanoseconds of the span are known
	granted, denied float32 // decisions in this time
	median, tail    float32
}

// keepLongest keeps the longest latencies. The latency of all nodes is the longest of any node.
func (s *span) keepLongest(median, tail float64) {
	s.median, s.tail = max(s.median, float32(median)), max(s.tail, float32(tail))
}

// spans is a ring of the last spans of each node.
type spans struct {
	every  int64 // the length of a span in nanoseconds
	size   int64
	newest int64 // the number of the newest span
	nodes  map[string][]span
	beyond map[string]int64 // members for which nodes has no room, and since when: they are named, but not added up
}

func newSpans(every time.Duration, size int64) spans {
	return spans{every: int64(every), size: size, nodes: map[string][]span{}, beyond: map[string]int64{}}
}

// turn begins new spans up to now, and forgets nodes that were not members in any span.
func (all *spans) turn(now int64) {
	newest := now / all.every
	for all.newest = max(all.newest, newest-all.size); all.newest < newest; {
		all.newest++
		for _, of := range all.nodes {
			of[all.newest%all.size] = span{}
		}
	}
	maps.DeleteFunc(all.nodes, func(_ string, of []span) bool {
		return !slices.ContainsFunc(of, func(s span) bool { return s.member })
	})
}

// expect notes that a node was a member between two times.
func (all *spans) expect(node string, from, to int64) {
	if all.nodes[node] == nil {
		if len(all.nodes) == mostNodes {
			if all.beyond[node] == 0 {
				all.beyond[node] = from
			}
			return
		}
		delete(all.beyond, node)
		all.nodes[node] = make([]span, all.size)
	}
	all.each(node, from, to+1, func(s *span, _ int64) { s.member = true })
}

// each calls f with a node's spans between two times, and how much of each span lies between them.
func (all *spans) each(node string, from, to int64, f func(s *span, nanos int64)) {
	of := all.nodes[node]
	for n := max(from/all.every, all.newest-all.size+1); of != nil && n <= min((to-1)/all.every, all.newest); n++ {
		f(&of[n%all.size], min(to, (n+1)*all.every)-max(from, n*all.every))
	}
}

// points returns the spans that begin later than a second and of which enough has passed by now.
func (all *spans) points(now, after int64, node string) []Point {
	points := []Point{}
	names := slices.Concat(slices.Collect(maps.Keys(all.nodes)), slices.Collect(maps.Keys(all.beyond)))
	slices.Sort(names)
	if node != "" {
		names = []string{node}
	}
	for n := max(after*int64(time.Second)/all.every+1, all.newest-all.size+1, 0); n <= all.newest; n++ {
		passed := min(all.every, now-n*all.every)
		if passed < min(all.every, int64(spanKnownFrom)) {
			break
		}
		if p := all.sum(n, passed, names); p.Nodes > 0 || len(p.Without) > 0 {
			points = append(points, p)
		}
	}
	return points
}

// sum adds up the nodes of a span, except nodes for which less than half of the span is known.
func (all *spans) sum(n, passed int64, names []string) Point {
	p := Point{At: n * all.every / int64(time.Second)}
	for _, name := range names {
		of, since := all.nodes[name], all.beyond[name]
		switch {
		case since != 0 && n >= since/all.every:
			p.Without = append(p.Without, name)
			continue
		case of == nil || !of[n%all.size].member:
			continue
		case of[n%all.size].covered < float32(passed)/2:
			p.Without = append(p.Without, name)
			continue
		}
		s := &of[n%all.size]
		p.Nodes++
		p.Granted += float64(s.granted) / float64(s.covered) * float64(time.Second)
		p.Denied += float64(s.denied) / float64(s.covered) * float64(time.Second)
		p.Median, p.Tail = max(p.Median, float64(s.median)), max(p.Tail, float64(s.tail))
	}
	p.Granted, p.Denied, p.Median, p.Tail = rounded(p.Granted, 3), rounded(p.Denied, 3), rounded(p.Median, 7), rounded(p.Tail, 7)
	return p
}

func rounded(x float64, digits int) float64 {
	unit := math.Pow10(digits)
	return math.Round(x*unit) / unit
}
