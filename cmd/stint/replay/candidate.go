package replay

import (
	"cmp"
	"slices"
	"unsafe"

	"github.com/stintdb/stint/server/trial"
)

// candidate holds the state of one set of limits during a replay.
type candidate struct {
	limits *Limits
	trial  *trial.Trial

	numbers blocks[uint32] // of each key in perKey, + 1; 0 for a key that was never denied
	perKey  blocks[denials]
	bytes   int64 // of both
	most    int64 // of the store
	denied  int64
	byLimit []int64
	runs    []run // the longest, the longest first
	series  series
}

// denials are the denials of one key.
type denials struct {
	denied uint64
	run    uint32 // denials since the last grant
	from   uint32 // seconds from the start of the replay to the first and to the last of them
	to     uint32
}

// run is a row of denials of a key.
type run struct {
	key      int
	length   uint32
	from, to uint32
}

func newCandidate(l *Limits) *candidate {
	return &candidate{limits: l, trial: l.Begin(0), byLimit: make([]int64, len(l.Specs()))}
}

// ask decides on one request of a key, and reports whether it would have been denied.
func (c *candidate) ask(now int64, key []byte, fields [][]byte) (denied bool) {
	allowed, binding := c.trial.Ask(now, 1, key, fields)
	if !allowed {
		c.byLimit[binding]++
	}
	return !allowed
}

// note counts an answer for a key. at is the number of seconds since the start.
func (c *candidate) note(key int, at uint32, denied bool) {
	for c.numbers.len <= key {
		_, grown := c.numbers.add()
		c.bytes += grown * int64(unsafe.Sizeof(uint32(0)))
	}
	d := c.denialsOf(key)
	if !denied {
		if d != nil && d.run > 0 {
			c.endRun(key, d)
		}
		return
	}
	if d == nil {
		n, grown := c.perKey.add()
		c.bytes += grown * int64(unsafe.Sizeof(denials{}))
		*c.numbers.get(key) = uint32(n + 1)
		d = c.perKey.get(n)
	}
	c.denied++
	if d.denied++; d.run == 0 {
		d.from = at
	}
	d.run, d.to = d.run+1, at
}

// denialsOf returns the denials of a key, nil if there are none.
func (c *candidate) denialsOf(key int) *denials {
	if n := *c.numbers.get(key); n > 0 {
		return c.perKey.get(int(n - 1))
	}
	return nil
}

// deniedOf is how often a key was denied.
func (c *candidate) deniedOf(key int) int64 {
	if d := c.denialsOf(key); d != nil {
		return int64(d.denied)
	}
	return 0
}

// mostRuns bounds the runs of denials that a report lists.
const mostRuns = 10

// endRun ends a key's run of denials, and keeps it if it is among the longest.
func (c *candidate) endRun(key int, d *denials) {
	r := run{key, d.run, d.from, d.to}
	d.run = 0
	at, _ := slices.BinarySearchFunc(c.runs, r, func(a, b run) int {
		return cmp.Or(cmp.Compare(b.length, a.length), cmp.Compare(a.from, b.from), cmp.Compare(a.key, b.key))
	})
	if at < mostRuns {
		c.runs = slices.Insert(c.runs, at, r)
		c.runs = c.runs[:min(len(c.runs), mostRuns)]
	}
}

// sweep drops keys at their full limit. A server does so too.
func (c *candidate) sweep(now int64) {
	c.most = max(c.most, c.trial.Bytes())
	c.trial.Sweep(now)
}

// finish ends all runs and frees the store.
func (c *candidate) finish() {
	for key := range c.numbers.len {
		if d := c.denialsOf(key); d != nil && d.run > 0 {
			c.endRun(key, d)
		}
	}
	c.most = max(c.most, c.trial.Bytes())
	c.trial.Close()
}
