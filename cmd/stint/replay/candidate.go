package replay

import (
	"cmp"
	"slices"
	"unsafe"

	"github.com/stintdb/stint/engine"
)

// candidate holds the state of one set of limits during a replay.
type candidate struct {
	limits *Limits
	store  *engine.Store
	op     [1]engine.Op
	result [1]engine.Result
	parts  []engine.Op
	keys   []byte // and holders, of the parts, one after the other
	ends   [][2]int

	perKey  blocks[denials]
	bytes   int64 // of perKey
	most    int64 // of the store
	denied  int64
	byLimit []int64
	runs    []run // the longest, the longest first
	series  series
}

// denials are those of one key.
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
	return &candidate{limits: l, store: engine.New(engine.Config{}), parts: make([]engine.Op, len(l.parts)), ends: make([][2]int, len(l.parts)),
		byLimit: make([]int64, len(l.parts))}
}

// ask decides on one request of a key, and reports whether it would have been denied.
func (c *candidate) ask(now int64, key []byte, fields [][]byte) (denied bool) {
	c.keys = c.keys[:0]
	for i := range c.limits.parts {
		c.keys, _ = c.limits.parts[i].key.AppendTo(c.keys, key, fields)
		c.ends[i][0] = len(c.keys)
		c.keys, _ = c.limits.parts[i].who.AppendTo(c.keys, key, fields)
		c.ends[i][1] = len(c.keys)
	}
	from := 0
	for i := range c.parts {
		c.parts[i] = c.limits.parts[i].op
		mid, end := c.ends[i][0], c.ends[i][1]
		c.parts[i].Key, c.parts[i].Who = c.keys[from:mid:mid], c.keys[mid:end:end]
		from = end
	}
	if len(c.parts) == 1 {
		c.op[0] = c.parts[0]
	} else {
		c.op[0] = engine.Op{Verb: engine.AcquireAll, Tokens: 1, Parts: c.parts}
	}
	c.store.Apply(now, c.op[:], c.result[:])
	if c.result[0].Allowed {
		return false
	}
	binding := 0
	if len(c.parts) > 1 {
		binding = max(c.result[0].Binding, 0)
	}
	c.byLimit[binding]++
	return true
}

// note counts an answer for a key. at is the number of seconds since the start.
func (c *candidate) note(key int, at uint32, denied bool) {
	for c.perKey.len <= key {
		_, grown := c.perKey.add()
		c.bytes += grown * int64(unsafe.Sizeof(denials{}))
	}
	d := c.perKey.get(key)
	if !denied {
		if d.run > 0 {
			c.endRun(key, d)
		}
		return
	}
	c.denied++
	if d.denied++; d.run == 0 {
		d.from = at
	}
	d.run, d.to = d.run+1, at
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
	c.most = max(c.most, c.store.Bytes())
	c.store.Sweep(now, max(c.store.Len()/50, 2000))
}

// finish ends all runs and frees the store.
func (c *candidate) finish() {
	for key := range c.perKey.len {
		if d := c.perKey.get(key); d.run > 0 {
			c.endRun(key, d)
		}
	}
	c.most = max(c.most, c.store.Bytes())
	c.store.Close()
}
