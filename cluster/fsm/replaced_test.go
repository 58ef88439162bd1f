package fsm

import (
	"bytes"
	"io"
	"slices"
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/store"
)

// An observer of the store of a node that installs a snapshot hears that all keys changed: once when the old keys are
// gone, and once when the new keys are there.
func TestSnapshotsChangeAllKeys(t *testing.T) {
	limit := limits.Limit{Algorithm: limits.TokenBucket, Capacity: 9, Rate: limits.Rate{Tokens: 1, Period: 3600e9}}
	from := newTestFSM(t)
	from.Store.Apply(1, []engine.Op{{Key: []byte("k"), Limit: limit, Tokens: 1}}, make([]engine.Result, 1))
	var snapshot bytes.Buffer
	s, err := from.Snapshot()
	if err == nil {
		err = s.(*fsmSnapshot).write(&snapshot)
		s.Release()
	}
	if err != nil {
		t.Fatal(err)
	}
	to := newTestFSM(t)
	var keys []int // in the store, each time that all changed
	changed := func(key []byte) {
		if key == nil {
			keys = append(keys, to.Store.Len())
		}
	}
	to.Store = store.New(store.Config{Replicated: true, Shards: 4, Changed: changed})
	defer to.Store.Close()
	to.Store.Apply(1, []engine.Op{{Key: []byte("old"), Limit: limit, Tokens: 1}, {Key: []byte("older"), Limit: limit,
		Tokens: 1}}, make([]engine.Result, 2))
	to.Store.Observe(true)
	if err := to.Restore(io.NopCloser(&snapshot)); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(keys, []int{0, 1}) {
		t.Errorf("all keys changed with %v keys in the store, want 0 and 1", keys)
	}
}

// A snapshot has the last time that a script has seen, from the version on in which scripts have times of their own.
func TestSnapshotsHaveTheLastOwnTime(t *testing.T) {
	from, to := newTestFSM(t), newTestFSM(t)
	from.Store.OwnTimes.SetLast(7000)
	var snapshot bytes.Buffer
	s, err := from.Snapshot()
	if err == nil {
		err = s.(*fsmSnapshot).write(&snapshot)
		s.Release()
	}
	if err == nil {
		err = to.Restore(io.NopCloser(&snapshot))
	}
	if last := to.Store.OwnTimes.Last(); err != nil || last != 7000 {
		t.Errorf("%d after a snapshot with 7000: %v", last, err)
	}
}
