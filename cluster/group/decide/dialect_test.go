package decide

import (
	"testing"

	"github.com/stintdb/stint/cluster/fsm"
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/scriptcache"
)

// While a member knows only version 2, scripts run in the dialect of that version instead of being refused.
func TestScriptsForOlderMembers(t *testing.T) {
	known := fsm.NewFormats(fsm.Additions)
	ops := []engine.Op{{Verb: engine.Script, Tokens: scriptcache.Dialect}, {Verb: engine.Acquire, Tokens: 5}}
	if a := known.NewestIn(ops); a.Version != 3 {
		t.Fatalf("the newest dialect is %+v", a)
	}
	later := []engine.Op{{Verb: engine.Script, Tokens: scriptcache.Dialect + 1}}
	isTooNew := func(ops []engine.Op) bool { return known.NewestIn(ops).Version > 2 }
	if useFirstDialect(ops, isTooNew); isTooNew(ops) || ops[1].Tokens != 5 {
		t.Errorf("after it %+v", ops)
	}
	if useFirstDialect(later, isTooNew); later[0].Tokens != scriptcache.Dialect+1 {
		t.Error("a dialect that this node does not know is carried out as the first one")
	}
}
