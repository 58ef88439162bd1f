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
	store := engine.New(engine.Options{Shards: 1})
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

func outcomeTable(t traffic) string {
	var out strings.Builder
	out.WriteString("| algorithm | accepted | rejected | delayed | longest delay |")
	from := time.Duration(0)
	for _, to := range t.columns {
		fmt.Fprintf(&out, " %g–%g s |", from.Seconds(), to.Seconds())
		from = to
	}
	out.WriteString(" later |\n|---|---|---|---|---|" + strings.Repeat("---|", len(t.columns)+1) + "\n")
	for _, c := range contenders {
		o := run(c, t)
		fmt.Fprintf(&out, "| %s | %d | %d | %d | %s |", c.name, o.accepted, o.rejected, o.delayed, delay(o.longest))
		counted := 0
		for _, to := range t.columns {
			fmt.Fprintf(&out, " %d |", o.before(to)-counted)
			counted = o.before(to)
		}
		fmt.Fprintf(&out, " %d |\n", o.accepted-counted)
	}
	return out.String()
}

func delay(nanos int64) string {
	if nanos == 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f s", float64(nanos)/float64(second))
}
