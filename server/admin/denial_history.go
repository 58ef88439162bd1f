package admin

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/stintdb/stint/internal/clusterstatus"
	"github.com/stintdb/stint/server/topkeys"
)

// A history covers five minutes in spans of ten seconds.
const (
	denialSpan          = int64(10 * time.Second)
	denialSpans         = 30
	denialPause         = int64(time.Minute) // after a pause this long, a limit counts as denying anew
	denialHistoriesKept = 50                 // limits
	countedMinutes      = 2                  // the minutes whose counts may still have grown since the last look
)

// denialHistory is the denials of one limit over time.
type denialHistory struct {
	since, last int64 // when it began to deny, without a pause since, and when it last denied
	spans       [denialSpans]int64
	at          int64           // the number of the newest span
	counted     map[int64]int64 // denials by minute, at the last look
}

// add records the denials of a limit's keys by minute.
func (c *denialHistory) add(now int64, counted map[int64]int64) {
	more := int64(0)
	for minute, n := range counted {
		more += max(0, n-c.counted[minute]) // it can be less, because keys leave the list
	}
	c.counted = counted
	c.turn(now)
	if more == 0 {
		return
	}
	if c.since == 0 || now-c.last > denialPause {
		c.since = now
	}
	c.last = now
	c.spans[c.at%denialSpans] += more
}

// turn begins new spans up to now.
func (c *denialHistory) turn(now int64) {
	newest := now / denialSpan
	for c.at = max(c.at, newest-denialSpans); c.at < newest; {
		c.at++
		c.spans[c.at%denialSpans] = 0
	}
}

// describe adds the history to a limit.
func (c *denialHistory) describe(now int64, b *clusterstatus.Bite) {
	c.turn(now)
	b.Since, b.Last = c.since/int64(time.Millisecond), c.last/int64(time.Millisecond)
	b.Recent = make([]int64, denialSpans)
	for i := range b.Recent {
		b.Recent[i] = c.spans[(c.at+1+int64(i))%denialSpans]
	}
	passed := time.Duration(denialSpan + now%denialSpan)
	b.PerSecond = float64(b.Recent[denialSpans-1]+b.Recent[denialSpans-2]) / passed.Seconds()
}

// denialHistories are the histories of the limits that deny most.
type denialHistories map[string]*denialHistory

// add records the most denied keys, by the limits that deny them.
func (all denialHistories) add(now int64, keys map[string][]topkeys.Entry) {
	for limit, entries := range keys {
		counted := map[int64]int64{}
		for _, e := range entries {
			for _, m := range e.Minutes[:min(len(e.Minutes), countedMinutes)] {
				counted[m.Start] += m.Denied
			}
		}
		if all[limit] == nil {
			all[limit] = new(denialHistory)
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

// thin only keeps the limits that denied most recently.
func (all denialHistories) thin() {
	limits := slices.SortedFunc(maps.Keys(all), func(a, b string) int {
		return cmp.Or(cmp.Compare(all[b].last, all[a].last), cmp.Compare(a, b))
	})
	for _, limit := range limits[min(len(limits), denialHistoriesKept):] {
		delete(all, limit)
	}
}
