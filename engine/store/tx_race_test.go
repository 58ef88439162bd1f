package store

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stintdb/stint/engine"
)

// Commands are atomic side by side, in batches too, whether they declare all of their keys or not: every look finds both
// keys alike.
func TestTxIsAtomic(t *testing.T) {
	s := newTxStore(t, Config{Shards: 64})
	const each, batch = 100, 3
	declared := []string{"a b", "b a", "a", "", "c"}
	var work sync.WaitGroup
	for i := range 2 * len(declared) {
		keys := declared[i%len(declared)]
		work.Go(func() {
			for range each {
				steps := "add a x, add b x, get a , get b "
				if i%2 == 1 {
					steps = "get b , add b x, add a x, get a , get b "
				}
				ops, results := make([]engine.Op, batch), make([]engine.Result, batch)
				for j := range ops {
					ops[j] = txOf(keys, steps)
				}
				s.Apply(epoch, ops, results)
				for j := range results {
					got := strings.Fields(string(results[j].Reply))
					if n := len(got); got[n-1] != got[n-2] {
						t.Errorf("a and b differ: %s", got)
					}
				}
				s.Sweep(epoch, 5)
			}
		})
	}
	work.Wait()
	want := fmt.Sprintf("true=%q", strings.Repeat("x", 2*len(declared)*each*batch))
	if got := replyTo(t, s, epoch, "a b", "get a , get b "); got != want+" "+want {
		t.Errorf("%d bytes, want two of %d", len(got), len(want))
	}
}
