package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stintdb/stint/engine"
)

// outcome is what became of the requests.
type outcome struct {
	accepted, rejected, delayed int
	longest                     int64   // delay, nanoseconds
	through                     []int64 // when each accepted request was let through, since the first arrival, in order
}

// run has a contender decide a traffic.
func run(c contender, t traffic) (o outcome) {
	store := engine.New(engine.Config{Shards: 1})
	defer store.Close()
	results := make([]engine.Result, 1)
	var leases []int64 // holders in the order in which they started; each ends c.hold later
	for i, after := range t.arrivals {
		now := firstArrival + after
		for c.hold > 0 && len(leases) > 0 && t.arrivals[leases[0]]+int64(c.hold) <= after {
			store.Apply(now, []engine.Op{{Verb: engine.Release, Key: []byte("k"), Who: holder(leases[0])}}, results)
			leases = leases[1:]
		}
		op := c.op
		op.Key, op.Tokens = []byte("k"), 1
		if c.hold > 0 {
			op.Who = holder(int64(i))
		}
		store.Apply(now, []engine.Op{op}, results)
		res := results[0]
		if !res.Allowed {
			o.rejected++
			continue
		}
		o.accepted++
		if c.hold > 0 {
			leases = append(leases, int64(i))
		}
		if res.Wait > 0 {
			o.delayed++
		}
		o.longest = max(o.longest, res.Wait)
		o.through = append(o.through, after+res.Wait)
	}
	slices.Sort(o.through)
	return o
}

func holder(i int64) []byte { return strconv.AppendInt(nil, i, 10) }

// before counts the requests let through before a time.
func (o outcome) before(end time.Duration) int {
	n, _ := slices.BinarySearch(o.through, int64(end))
	return n
}

func simulationTable() string {
	var out strings.Builder
	out.WriteString("| algorithm | command | burst: at once | longest delay | sustained: granted | longest delay |\n" +
		"|---|---|---|---|---|---|\n")
	for _, c := range contenders {
		note := ""
		if c.hold > 0 {
			note = fmt.Sprintf(", released after %g s", c.hold.Seconds())
		}
		b, s := run(c, burst), run(c, sustained)
		fmt.Fprintf(&out, "| %s | `%s`%s | %d | %s | %d | %s |\n", c.name, c.command, note,
			b.before(100*time.Millisecond), delay(b.longest), s.accepted, delay(s.longest))
	}
	return out.String()
}

func delay(nanos int64) string {
	if nanos == 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f s", float64(nanos)/float64(second))
}
