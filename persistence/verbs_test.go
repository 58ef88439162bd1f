package persistence

import (
	"testing"

	"github.com/stintdb/stint/engine"
)

// Snapshots and journals write the verb of a policy's record as a whole byte.
func TestRecordsKeepAnyVerb(t *testing.T) {
	for verb := range 256 {
		var e encoder
		e.start(someTime)
		at := len(e.buf)
		e.policy(&engine.Op{Verb: engine.Verb(verb), Key: []byte("p"), Who: []byte("who")})
		d := decoder{rest: e.buf[at+1:]} // behind the record's kind
		if op := d.policy(); op == nil || int(op.Verb) != verb || string(op.Key) != "p" || string(op.Who) != "who" {
			t.Errorf("verb %d is read as %+v", verb, op)
		}
	}
}
