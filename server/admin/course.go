package admin

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/stintdb/stint/internal/clusterstatus"
	"github.com/stintdb/stint/server/topkeys"
)

// A course has five minutes in spans of ten seconds.
const (
	courseSpan   = int64(10 * time.Second)
	courseSpans  = 30
	coursePause  = int64(time.Minute) // without denials: later ones have another beginning
	coursesKept  = 50                 // limits
	countedPanes = 2                  // minutes that can have grown since the look before
)

// course is the denials of one limit over time.
type course struct {
	since, last int64 // when it began to deny without a pause, and when it last did
	spans       [courseSpans]int64
	at          int64           // the number of the newest span
	counted     map[int64]int64 // denials by minute, at the last look
}

// add takes in the minutes of a limit's keys, added up, at a time.
func (c *course) add(now int64, counted map[int64]int64) {
	more := int64(0)
	for minute, n := range counted {
		more += max(0, n-c.counted[minute]) // keys may have left the list
	}
	c.counted = counted
	c.turn(now)
	if more == 0 {
		return
	}
	if c.since == 0 || now-c.last > coursePause {
		c.since = now
	}
	c.last = now
	c.spans[c.at%courseSpans] += more
}

// turn empties the spans that begin up to a time.
func (c *course) turn(now int64) {
	newest := now / courseSpan
	for c.at = max(c.at, newest-courseSpans); c.at < newest; {
		c.at++
		c.spans[c.at%courseSpans] = 0
	}
}

// describe completes a limit with its course.
func (c *course) describe(now int64, b *clusterstatus.Bite) {
	c.turn(now)
	b.Since, b.Last = c.since/int64(time.Millisecond), c.last/int64(time.Millisecond)
	b.Recent = make([]int64, courseSpans)
	for i := range b.Recent {
		b.Recent[i] = c.spans[(c.at+1+int64(i))%courseSpans]
	}
	passed := time.Duration(courseSpan + now%courseSpan)
	b.PerSecond = float64(b.Recent[courseSpans-1]+b.Recent[courseSpans-2]) / passed.Seconds()
}

// courses are those of the limits that deny most.
type courses map[string]*course

// add takes in the keys denied most, by the limits that deny them.
func (all courses) add(now int64, keys map[string][]topkeys.Entry) {
	for limit, entries := range keys {
		counted := map[int64]int64{}
		for _, e := range entries {
			for _, m := range e.Minutes[:min(len(e.Minutes), countedPanes)] {
				counted[m.Start] += m.Denied
			}
		}
		if all[limit] == nil {
			all[limit] = new(course)
		}
		all[limit].add(now, counted)
	}
	for limit, c := range all {
		if keys[limit] == nil && now-c.last > int64(topkeys.Window) {
			delete(all, limit)
		}
	}
	all.thin()
}

// thin keeps the limits that denied last.
func (all courses) thin() {
	limits := slices.SortedFunc(maps.Keys(all), func(a, b string) int {
		return cmp.Or(cmp.Compare(all[b].last, all[a].last), cmp.Compare(a, b))
	})
	for _, limit := range limits[min(len(limits), coursesKept):] {
		delete(all, limit)
	}
}
