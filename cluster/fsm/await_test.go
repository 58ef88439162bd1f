package fsm

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/internal/testwake"
)

// An applied entry wakes its waiters at once, and costs no allocation while nobody waits.
func TestAwaitApplied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &Machine{}
		for name, change := range map[string]func(index uint64){
			"an entry":        f.noteApplied,
			"a configuration": func(index uint64) { f.StoreConfiguration(index, raft.Configuration{}) },
		} {
			index := f.Applied.Load() + 2
			if !testwake.IsWoken(t, func() { f.AwaitApplied(t.Context(), index) }, func() { change(index - 1); change(index) }) {
				t.Errorf("%s wakes nobody", name)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if f.AwaitApplied(ctx, f.Applied.Load()+1) {
			t.Error("it reports an entry that nobody applied")
		}
	})
	f := &Machine{}
	if allocs := testing.AllocsPerRun(100, func() { f.noteApplied(1) }); allocs != 0 {
		t.Errorf("%v allocations for an entry", allocs)
	}
}
