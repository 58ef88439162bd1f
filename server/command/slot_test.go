package command

import (
	"testing"

	"github.com/stintdb/stint/engine"
)

func TestUndecided(t *testing.T) {
	take, look := engine.Op{Verb: engine.Acquire}, engine.Op{Verb: engine.Look}
	for _, tc := range []struct {
		name     string
		ops      []engine.Op
		statuses []engine.Status
		want     engine.Status
	}{
		{"nothing", nil, nil, engine.OK},
		{"decided", []engine.Op{take, look}, []engine.Status{engine.OK, engine.NotFound}, engine.OK},
		{"not kept is decided", []engine.Op{take}, []engine.Status{engine.NotDurable}, engine.OK},
		{"none of two", []engine.Op{take, take}, []engine.Status{engine.Moved, engine.NoLeader}, engine.Moved},
		{"one of two", []engine.Op{take, take}, []engine.Status{engine.OK, engine.NoLeader}, engine.Uncertain},
		{"one of two, the other way", []engine.Op{take, take}, []engine.Status{engine.Overloaded, engine.OK}, engine.Uncertain},
		{"a look does not count", []engine.Op{look, take}, []engine.Status{engine.OK, engine.NoLeader}, engine.NoLeader},
		{"nor does what changed nothing", []engine.Op{take, take}, []engine.Status{engine.NotFound, engine.NoLeader}, engine.NoLeader},
		{"uncertain weighs most", []engine.Op{take, take}, []engine.Status{engine.NoLeader, engine.Uncertain}, engine.Uncertain},
	} {
		results := make([]engine.Result, len(tc.statuses))
		for i, s := range tc.statuses {
			results[i].Status = s
		}
		if got := Undecided(tc.ops, results); got != tc.want {
			t.Errorf("%s: %d, want %d", tc.name, got, tc.want)
		}
	}
}
