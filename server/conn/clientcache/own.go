package clientcache

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/database"
	"github.com/stintdb/stint/server/command"
)

// OwnKeys are the keys that a batch of a client with NOLOOP may change.
type OwnKeys []ownKey

// ownKey is a key that an operation of a batch changes, if it changes all its keys.
type ownKey struct {
	op   int // in the batch
	key  string
	keys int64 // the number of keys that the operation may change; 0 for the deletion of a key
}

// BeginDecision notes the keys that a batch of the client may change. No message about them is written until
// EndDecision.
func (c *Cache) BeginDecision(own *OwnKeys, ops []engine.Op) {
	*own = (*own)[:0]
	if c.Client().BeginDecision() {
		for i := range ops {
			own.add(i, &ops[i])
		}
	}
}

// EndDecision says which of the changes since BeginDecision were the client's own.
func (c *Cache) EndDecision(own OwnKeys, results []engine.Result) {
	var changed map[string]bool
	c.Client().EndDecision(func(key []byte) bool {
		if changed == nil {
			changed = make(map[string]bool, len(own))
			for i := range own {
				if k := &own[i]; k.isChanged(&results[k.op]) {
					changed[k.key] = true
				}
			}
		}
		return changed[string(key)]
	})
}

// add adds the keys of an operation whose result will show whether it changed them. The result of a script does not
// show it, and a limiter may be decided without a change.
func (own *OwnKeys) add(at int, op *engine.Op) {
	switch op.Verb {
	case engine.Delete:
		*own = append(*own, ownKey{at, string(database.KeyOf(op.Key)), 0})
	case engine.Command:
		from := len(*own)
		for i, key := range op.DeclaredKeys() {
			if command.AccessOf(op, i)&command.Changes != 0 {
				*own = append(*own, ownKey{at, string(key), 0})
			}
		}
		of := (*own)[from:]
		for i := range of {
			of[i].keys = int64(len(of))
		}
	}
}

func (o *ownKey) isChanged(res *engine.Result) bool {
	return res.Status == engine.OK && (o.keys == 0 || res.Granted == o.keys)
}
