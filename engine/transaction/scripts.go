package transaction

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/scriptcache"
)

// Scripts of a transaction. They are kept when the transaction ends, like its keys.

// Script returns the body of a script by its digest. The body must not be changed.
func (t *Tx) Script(digest []byte) (body []byte, found bool) { return t.runner.scripts.Find(digest) }

// KeepScript keeps a script, with loaded until [Tx.DropScripts] and otherwise as long as there is room. It reports
// false if there is none.
func (t *Tx) KeepScript(body []byte, loaded bool) bool {
	op := engine.Op{Verb: engine.KeepScript, Who: body}
	if loaded {
		op.Options = engine.Loaded
	}
	if !t.runner.scripts.Fits(body, loaded) {
		return false
	}
	t.scripts = append(t.scripts, op)
	return true
}

// DropScripts forgets all scripts.
func (t *Tx) DropScripts() { t.scripts = append(t.scripts, engine.Op{Verb: engine.DropScripts}) }

// change reports whether applying the operations changes anything.
func (s scriptChanges) change(scripts *scriptcache.Cache) bool {
	for i := range s {
		if op := &s[i]; op.Verb == engine.DropScripts || scripts.Lacks(op.Who, op.Options&engine.Loaded != 0) {
			return true
		}
	}
	return false
}
