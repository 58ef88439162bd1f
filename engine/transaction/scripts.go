package transaction

import "github.com/stintdb/stint/engine"

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

// changesScripts reports whether keeping the transaction's scripts changes anything.
func (t *Tx) changesScripts() bool {
	for i := range t.scripts {
		if op := &t.scripts[i]; op.Verb == engine.DropScripts || t.runner.scripts.Lacks(op.Who, op.Options&engine.Loaded != 0) {
			return true
		}
	}
	return false
}
