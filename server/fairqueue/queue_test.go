package fairqueue

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stintdb/stint/engine"
)

// slow is a decider whose batches take as many milliseconds as they have operations, and which notes the order.
type slow struct {
	order  []string
	atOnce int // batches under way
	most   int
	later  bool // finishes by Done
}

func (d *slow) Decide(b *engine.Batch) bool {
	if d.atOnce++; d.atOnce > d.most {
		d.most = d.atOnce
	}
	d.order = append(d.order, string(b.Ops[0].Key))
	time.Sleep(time.Duration(len(b.Ops)) * time.Millisecond)
	d.atOnce--
	if d.later {
		go b.Done()
	}
	return !d.later
}

// play queues the batches of owners at once, and returns the order in which they were decided. An owner's batch is its
// name and how many milliseconds it takes.
func play(t *testing.T, d *slow, batches ...string) (order string) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		q := New(d.Decide, func() int64 { return int64(time.Since(start)) })
		done := make(chan struct{}, len(batches))
		for _, owner := range batches {
			key := []byte(owner)
			b := &engine.Batch{Ops: slices.Repeat([]engine.Op{{Verb: engine.Acquire, Key: key}}, len(owner)), Done: func() { done <- struct{}{} }}
			q.Decide(owner[:1], b)
			clear(key) // the input is used again
		}
		for range batches {
			<-done
		}
		synctest.Wait()
		if q.running || len(q.owners) > 0 {
			t.Errorf("running: %t, owners: %d, after all work", q.running, len(q.owners))
		}
	})
	return strings.Join(d.order, " ")
}

func TestTurns(t *testing.T) {
	for _, test := range []struct {
		name, batches, order string
	}{
		{"one owner: as they came", "a a a", "a a a"},
		{"two owners by turns", "a a a a b b", "a b a b a a"},
		{"by time, not by number", "aaaa aaaa b b b b b", "aaaa b b b b aaaa b"},
	} {
		for _, later := range []bool{false, true} {
			d := &slow{later: later}
			if order := play(t, d, strings.Fields(test.batches)...); order != test.order || d.most != 1 {
				t.Errorf("%s (later: %t): decided as %q, %d at once, wanted %q, 1", test.name, later, order, d.most, test.order)
			}
		}
	}
}

// An owner that comes back begins where the others are.
func TestOwnerThatComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		d := &slow{}
		q := New(d.Decide, func() int64 { return int64(time.Since(start)) })
		give := func(owner string) {
			q.Decide(owner[:1], &engine.Batch{Ops: slices.Repeat([]engine.Op{{Key: []byte(owner)}}, len(owner)), Done: func() {}})
		}
		give("aaaaaaaaaa")
		for range 3 {
			give("a")
			give("b")
		}
		time.Sleep(11500 * time.Microsecond) // the first of a and of b have been begun
		give("c")
		q.Wait()
		if got, want := strings.Join(d.order, " "), "aaaaaaaaaa b b b a a a c"; got == want || strings.Count(got, "c") != 1 || strings.HasSuffix(got, "c") {
			t.Errorf("decided as %q: c waited for all others", got)
		}
	})
}

// A batch whose decision takes long, because its group has no leader for example, holds up the other batches of its
// owner. It does not hold up other owners.
func TestABatchThatWaitsHoldsUpNoOtherOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var stuck []*engine.Batch
		var order []string
		q := New(func(b *engine.Batch) bool {
			name := string(b.Ops[0].Key)
			order = append(order, name)
			if name == "stuck" {
				stuck = append(stuck, b)
			}
			return name != "stuck"
		}, func() int64 { return time.Now().UnixNano() })
		var mu sync.Mutex
		ended := map[string]time.Time{}
		add := func(owner, name string) {
			q.Decide(owner, &engine.Batch{Ops: []engine.Op{{Key: []byte(name)}}, Done: func() {
				mu.Lock()
				defer mu.Unlock()
				ended[name] = time.Now()
			}})
		}
		began := time.Now()
		add("a", "stuck")
		add("a", "next")
		add("b", "other")
		time.Sleep(2 * patience)
		add("c", "later")
		synctest.Wait()
		if took := ended["other"].Sub(began); took != patience || ended["later"].IsZero() || !ended["next"].IsZero() {
			t.Errorf("ended: %v, the other owner's after %v, in the order %v", ended, took, order)
		}
		if !q.IsRunning() {
			t.Error("the queue has batches, and is not running")
		}
		stuck[0].Done()
		q.Wait()
		if len(ended) != 4 || strings.Join(order, " ") != "stuck other later next" || q.IsRunning() {
			t.Errorf("ended: %v, in the order %v", ended, order)
		}
	})
}
