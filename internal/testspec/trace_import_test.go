package testspec

import (
	"testing"

	"github.com/stintdb/stint/engine"
)

// A cluster that begins with an import grants nothing before, neither in its log nor from memory.
func TestImportsAreFollowed(t *testing.T) {
	ops, granted := []engine.Op{{Verb: engine.Acquire, Key: []byte("k"), Tokens: 1}}, []engine.Result{{Allowed: true, Granted: 1}}
	for _, c := range []struct {
		name    string
		trace   func(tracer *Tracer)
		follows bool
	}{
		{"after", func(tracer *Tracer) {
			tracer.Trace(1, nil, nil)
			tracer.Trace(2, ops, granted)
			tracer.Await(2, ops, granted)
		}, true},
		{"denied before", func(tracer *Tracer) { tracer.Trace(1, ops, make([]engine.Result, 1)) }, true},
		{"before", func(tracer *Tracer) { tracer.Trace(1, ops, granted); tracer.Trace(2, nil, nil) }, false},
		{"before, from memory", func(tracer *Tracer) { tracer.Await(1, ops, granted) }, false},
	} {
		tracer := Tracer{Import: true}
		c.trace(&tracer)
		if _, err := tracer.Err(); (err == nil) != c.follows {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
