package store

import "github.com/stintdb/stint/engine"

// Commands and scripts have keys, and all else in this package has the names by which they lie in the keyspace: see package database.

// Database is the number of the database whose keys the transaction sees: at first that of the operation.
func (t *Tx) Database() uint8 { return t.database }

// Select has the transaction go on in another database.
func (t *Tx) Select(number uint8) { t.database = number }

// nameOf is the name of a key, until the next call.
func (t *Tx) nameOf(key []byte) []byte { return t.names.NameOf(t.database, key) }

// named is an operation on the name of its key, until the next call.
func (t *Tx) named(op *engine.Op) *engine.Op {
	name := t.nameOf(op.Key)
	if len(name) == len(op.Key) {
		return op
	}
	t.op = *op
	t.op.Key = name
	return &t.op
}
