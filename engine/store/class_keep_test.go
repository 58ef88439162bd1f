package store

import (
	"math/rand/v2"
	"testing"

	"github.com/stintdb/stint/engine/keyspace"
)

// Grants that change only meters are kept without the general way, which a store with a snapshot takes. Both leave the
// same state, and a journal hears of each node.
func TestClassesKeepMetersInPlace(t *testing.T) {
	r := rand.New(rand.NewPCG(18, 21))
	fast, general, now := New(Config{Shards: 1}), New(Config{Shards: 1}), epoch
	defer fast.Close()
	defer general.Close()
	fast.Track(true)
	inPlace := 0
	for i := range 3000 {
		now += r.Int64N(sec)
		op := randomTree(r)
		limits := map[string]bool{}
		for j := range op.Parts {
			limits[string(op.Parts[j].Key)] = true
		}
		snapshot := general.Snapshot()
		want := ask(general, now, op)
		snapshot.Release()
		moves := fast.keys.ShardAt(0).Moves
		got := ask(fast, now, op)
		if got.Allowed != want.Allowed || got.Wait != want.Wait || got.Remaining != want.Remaining {
			t.Fatalf("request %d: %+v, want %+v", i, got, want)
		}
		noted := 0
		fast.Changes(now, func(c keyspace.Change) {
			if c.Kind == keyspace.Changed && limits[string(c.Entry.Key)] {
				noted++
			}
		})
		if got.Allowed && noted != len(op.Parts) {
			t.Fatalf("request %d: %d of %d nodes noted as changed", i, noted, len(op.Parts))
		}
		if got.Allowed && moves == fast.keys.ShardAt(0).Moves {
			inPlace++
		}
		if i%100 == 0 && fast.Digest(now) != general.Digest(now) {
			t.Fatalf("request %d: the states differ", i)
		}
	}
	if inPlace < 500 {
		t.Errorf("%d grants moved no record", inPlace)
	}
}
