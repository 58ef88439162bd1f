package persistence

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/admission"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/store"
)

// What becomes of new keys, and the limiters they share, are part of the state that is written and read.
func TestStateHoldsRestrictions(t *testing.T) {
	const now = 1_700_000_000_000_000_000
	kept, again := store.New(store.Config{Shards: 4, Replicated: true}), store.New(store.Config{Shards: 1, Replicated: true})
	defer kept.Close()
	defer again.Close()
	list := []limits.Limit{
		{Algorithm: limits.TokenBucket, Capacity: 5, Rate: limits.Rate{Tokens: 1, Period: 1e12}},
		{Algorithm: limits.SlidingLog, Capacity: 500, Rate: limits.Rate{Period: 1e12}},
		{Algorithm: limits.Concurrency, Capacity: 50, Rate: limits.Rate{Period: 1e12}},
	}
	kept.Apply(now, kept.Pressure(admission.Rules{NewKeys: engine.OverflowNew, Delimiters: ":/"}, true), make([]engine.Result, 1))
	for i := range 100 {
		op := engine.Op{Key: fmt.Appendf(nil, "%d:%d", i%7, i), Limit: list[i%3], Tokens: 1, Who: fmt.Appendf(nil, "w%d", i)}
		kept.Apply(now, []engine.Op{op}, make([]engine.Result, 1))
	}
	if f := kept.NewKeyCounts(); f.Limiters != 21 || f.Keys != 1 {
		t.Fatalf("%+v", f)
	}
	var file bytes.Buffer
	frozen := kept.Snapshot()
	if _, _, err := WriteState(&file, frozen, now); err != nil {
		t.Fatal(err)
	}
	frozen.Release()
	if _, _, err := ReadState(&file, again, now); err != nil {
		t.Fatal(err)
	}
	if kept.Digest(now) != again.Digest(now) || again.NewKeyCounts().Limiters != 21 {
		t.Errorf("read back: %+v", again.NewKeyCounts())
	}
}
