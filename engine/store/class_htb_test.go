package store

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
)

// The tree of HTB's user guide, to which tc-htb(8) refers: a root of 100, A of 40 with www 30 and smtp 10, B of 60.
// linux is the long-run share of each busy class, which asks without end, and which sch_htb of Linux 6.18 showed within
// 0.1; here is ours.
func TestClassesBesideHTB(t *testing.T) {
	type shares [3]float64 // of www, smtp and B
	for _, c := range []struct {
		ceilingOfA  int64
		linux, here shares
	}{
		{100, shares{30, 10, 60}, shares{30, 10, 60}},
		{100, shares{0, 40, 60}, shares{0, 29, 71}},
		{100, shares{40, 0, 60}, shares{35, 0, 65}},
		{100, shares{75, 25, 0}, shares{58, 42, 0}},
		{100, shares{100, 0, 0}, shares{100, 0, 0}},
		{100, shares{0, 100, 0}, shares{0, 100, 0}},
		{100, shares{0, 0, 100}, shares{0, 0, 100}},
		{60, shares{45, 15, 0}, shares{35, 25, 0}},
	} {
		root, a := bucketOf(limits.Class, 20, 100, sec), bucketOf(limits.Class, 20, c.ceilingOfA, sec)
		class := func(name string, capacity, rate int64, under ...string) engine.Op {
			classes := []limits.Limit{bucketOf(limits.Class, 10, 100, sec), a, root}
			if len(under) == 1 {
				classes = []limits.Limit{classes[0], root}
			}
			return treeOp(1, bucketOf(limits.TokenBucket, capacity, rate, sec), append([]string{name}, under...), classes...)
		}
		ops := []engine.Op{class("www", 3, 30, "a", "root"), class("smtp", 1, 10, "a", "root"), class("b", 6, 60, "root")}
		s, r, now := New(Config{}), rand.New(rand.NewPCG(18, 22)), epoch
		for _, op := range ops {
			ask(s, now, op) // registers it, also where it is idle from then on
		}
		var got shares
		const seconds = 100
		for now = epoch + sec; now < epoch+(1+seconds)*sec; now += r.Int64N(sec / 1000) {
			if i := r.IntN(len(ops)); c.linux[i] > 0 && ask(s, now, ops[i]).Allowed {
				got[i] += 1.0 / seconds
			}
		}
		t.Logf("ceiling of A %3d: Linux %v, here %.1f", c.ceilingOfA, c.linux, got)
		total, want := 0.0, 0.0
		for i, assured := range (shares{30, 10, 60}) {
			if total, want = total+got[i], want+c.linux[i]; math.Abs(got[i]-c.here[i]) > 1 || c.linux[i] > 0 && got[i] < assured-0.5 {
				t.Errorf("ceiling of A %d, busy %v: the shares are %.1f, want %v", c.ceilingOfA, c.linux, got, c.here)
			}
		}
		if math.Abs(total-want) > 0.5 {
			t.Errorf("ceiling of A %d, busy %v: %.1f in all, want %v", c.ceilingOfA, c.linux, total, want)
		}
		s.Close()
	}
}
