package transaction

import (
	"bytes"
	"github.com/stintdb/stint/engine/largevalues"
	"slices"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/database"
	"github.com/stintdb/stint/engine/keyspace"
	"github.com/stintdb/stint/engine/limits"
)

// copies are the declared keys of a command as they were when it began. A command that looks at all of them, and
// changes nothing, works on copies: the shards of its keys are locked no longer than the copying takes. Requests for
// other keys of these shards, with all that an event loop has to do after them, would otherwise wait until the command
// is done.
type copies struct {
	keys  []copiedKey
	bytes []byte
	inUse bool
}

type copiedKey struct {
	name  []byte
	limit limits.Limit
	state []byte
	found bool
}

// A command works on copies if its keys take at least minCopied bytes together, and at most maxCopied.
const (
	minCopied = 64 << 10
	maxCopied = 2 * engine.MaxValueBytes // a value, with room to grow
)

// take copies the declared keys of an operation if that is worth it, and returns true. Their shards are locked.
func (c *copies) take(r *Runner, op *engine.Op) bool {
	if op.Verb != engine.Command || op.Options&engine.Peek == 0 || !r.keys.MayBeLarge(op, false) {
		return false
	}
	held := 0
	eachDeclared(r, op, func(_ *keyspace.Shard, _ []byte, limit *limits.Limit, state []byte) {
		bytes, _ := largevalues.FlatSize(limit, state)
		held += bytes
	})
	if held < minCopied || held > maxCopied || !r.config.Commands.ReadsAll(op, held) {
		return false
	}
	c.inUse = true
	c.bytes = slices.Grow(c.bytes, held)
	eachDeclared(r, op, func(sh *keyspace.Shard, name []byte, limit *limits.Limit, state []byte) {
		key := copiedKey{name: bytes.Clone(name)}
		if key.found = limit != nil; key.found {
			at := len(c.bytes)
			c.bytes = append(c.bytes, keyspace.LargeValues(sh).Flat(limit, state)...)
			key.limit, key.state = *limit, c.bytes[at:]
		}
		c.keys = append(c.keys, key)
	})
	return true
}

// eachDeclared visits the declared keys of an operation, whose shards are locked. The limit is nil for a key that is
// not there.
func eachDeclared(r *Runner, op *engine.Op, visit func(sh *keyspace.Shard, name []byte, limit *limits.Limit, state []byte)) {
	var names database.Room
	for _, key := range op.DeclaredKeys() {
		name := names.NameOf(op.Database, key)
		sh, tag := r.keys.Locate(name)
		if p := sh.Find(tag, name); p.Found {
			limit, state := sh.StateAt(p)
			visit(sh, name, limit, state)
		} else {
			visit(sh, name, nil, nil)
		}
	}
}

// find returns the copy of a key, nil if there is none.
func (c *copies) find(name []byte) *copiedKey {
	for i := range c.keys {
		if bytes.Equal(c.keys[i].name, name) {
			return &c.keys[i]
		}
	}
	return nil
}

// drop ends the use of the copies.
func (c *copies) drop() {
	if len(c.keys) == 0 {
		return
	}
	clear(c.keys)
	if c.keys, c.bytes, c.inUse = c.keys[:0], c.bytes[:0], false; cap(c.bytes) > maxCopied {
		c.bytes = nil
	}
}
