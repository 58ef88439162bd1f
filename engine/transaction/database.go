package transaction

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/database"
)

// selected is the database whose keys a transaction sees. Commands and scripts have keys; everything else in this
// package takes the names by which they lie in the keyspace.
type selected struct {
	number uint8
	names  database.Room
	op     engine.Op // on such a name
}

// Database is the number of the database: at first the one that the operation names.
func (s *selected) Database() uint8 { return s.number }

// Select makes the transaction go on in another database.
func (s *selected) Select(number uint8) { s.number = number }

// nameOf is the name of a key, until the next call.
func (s *selected) nameOf(key []byte) []byte { return s.names.NameOf(s.number, key) }

// named is an operation on the name of its key, until the next call.
func (s *selected) named(op *engine.Op) *engine.Op {
	name := s.nameOf(op.Key)
	if len(name) == len(op.Key) {
		return op
	}
	s.op = *op
	s.op.Key = name
	return &s.op
}
