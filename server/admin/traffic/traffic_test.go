package traffic

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/stintdb/stint/internal/clusterstatus"
)

// fed is traffic whose nodes decide at a steady rate. A node's report is half a second old at each look.
type fed struct {
	*Traffic
	now int64
}

func newFed() *fed { return &fed{New(), int64(1000 * time.Minute)} }

// pass lets some seconds pass, in which each member grants its rate of requests per second and denies half as many. A
// rate of -1 stands for a node without a report.
func (f *fed) pass(seconds int, rates map[string]int64) {
	for range seconds {
		f.now += int64(time.Second)
		members := map[string]*clusterstatus.Totals{}
		for node, rate := range rates {
			if members[node] = nil; rate >= 0 {
				at := f.now - int64(time.Second)/2
				members[node] = &clusterstatus.Totals{At: at, Granted: rate * at / int64(time.Second/2) / 2, Denied: rate * at / int64(time.Second), Median: 0.001 * float64(rate), Tail: 0.002 * float64(rate)}
			}
		}
		f.Look(f.now, members)
	}
}

// The charts add up the nodes about which something is known, name the others, and have gaps if nothing is known.
func TestTrafficOfAllNodes(t *testing.T) {
	f := newFed()
	all := map[string]int64{"a": 100, "b": 200}
	f.pass(30, all)
	f.pass(8, map[string]int64{"a": 100, "b": -1}) // lost, and back
	f.pass(1, all)
	f.pass(19, map[string]int64{"a": 100, "b": -1}) // long enough that nothing is known
	f.pass(20, all)
	f.pass(10, map[string]int64{"a": 100}) // removed
	start := int64(1000 * 60)
	got := f.points(&f.seconds, 0, "")
	if len(got) == 0 || got[0].At != start+1 || got[len(got)-1].At != start+88-int64(reportsLate/time.Second)-1 {
		t.Fatalf("from %+v to %+v", got[0], got[len(got)-1])
	}
	for _, p := range got {
		want := Point{At: p.At, Nodes: 2, Granted: 300, Denied: 300, Median: 0.2, Tail: 0.4}
		switch second := p.At - start; {
		case second > 38 && second < 58:
			want = Point{At: p.At, Nodes: 1, Granted: 100, Denied: 100, Median: 0.1, Tail: 0.2, Without: []string{"b"}}
		case second == 78:
			want.Without, want.Nodes = p.Without, p.Nodes // the node left in this second
			want.Granted, want.Denied, want.Median, want.Tail = p.Granted, p.Denied, p.Median, p.Tail
		case second > 78:
			want = Point{At: p.At, Nodes: 1, Granted: 100, Denied: 100, Median: 0.1, Tail: 0.2}
		}
		if !reflect.DeepEqual(p, want) {
			t.Errorf("second %d: %+v, want %+v", p.At-start, p, want)
		}
	}
	for _, p := range f.points(&f.minutes, 0, "b") {
		if p.Granted != 200 || p.At%60 != 0 {
			t.Errorf("%+v of node b alone", p)
		}
	}
}

// If there are too many nodes, a further one is named from when it came.
func TestTrafficNamesFurtherNodes(t *testing.T) {
	f, all := newFed(), map[string]int64{}
	for i := range mostNodes {
		all[fmt.Sprintf("n%02d", i)] = 1
	}
	f.pass(20, all)
	came := f.now / int64(time.Second)
	all["further"] = 1
	f.pass(20, all)
	for node, nodes := range map[string]int{"": mostNodes, "further": 0} {
		points := f.points(&f.seconds, came, node)
		if len(points) == 0 {
			t.Errorf("%q: no points", node)
		}
		for _, p := range points {
			if p.Nodes != nodes || !slices.Equal(p.Without, []string{"further"}) {
				t.Errorf("%q: %+v", node, p)
			}
		}
	}
	if before := f.points(&f.seconds, came-10, "")[0]; before.Nodes != mostNodes || before.Without != nil {
		t.Errorf("before it came: %+v", before)
	}
	delete(all, "further")
	f.pass(10, all)
	if len(f.seconds.beyond)+len(f.minutes.beyond) != 0 {
		t.Error("a node that went is kept")
	}
}

// Memory is limited, no matter how many nodes come and go and how far the clock jumps.
func TestTrafficIsBounded(t *testing.T) {
	f := newFed()
	for i := range 3 * mostNodes {
		f.pass(1, map[string]int64{"a": 1, fmt.Sprint("n", i): 1})
	}
	if n := len(f.minutes.nodes); n != mostNodes {
		t.Errorf("%d nodes are kept", n)
	}
	f.now += int64(48 * time.Hour)
	f.pass(20, map[string]int64{"a": 1})
	if len(f.minutes.nodes) != 1 || len(f.seconds.nodes) != 1 || len(f.last) != 1 {
		t.Errorf("%d nodes are kept after two days", len(f.minutes.nodes))
	}
	f.pass(2*minutesKept, map[string]int64{"a": 1})
	if all := f.points(&f.seconds, 0, ""); len(all) != secondsKept-1 { // the newest has just begun
		t.Errorf("%d points", len(all))
	}
	if newer := f.points(&f.seconds, f.now/int64(time.Second)-10, "a"); len(newer) != 9 {
		t.Errorf("%d points of the last ten seconds", len(newer))
	}
}
