package command

import (
	"math"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/database"
)

// NameKeys replaces the keys of operations on limiters by their names in the request's database, see package database.
// A policy and its limits belong to the server, so they are always in database 0.
func (r *Request) NameKeys(ops []engine.Op) {
	if r.Database != 0 || r.isMarked {
		r.nameKeys(ops)
	}
}

func (r *Request) nameKeys(ops []engine.Op) {
	for i := range ops {
		switch op := &ops[i]; {
		case op.Verb.HasOneKey(), op.Verb == engine.Extend, op.Verb == engine.Settle:
			op.Key = r.nameOf(op.Key)
		case op.Verb == engine.Reserve:
			op.Key = r.nameOf(op.Key)
			r.nameKeys(op.Parts)
		case op.Verb == engine.AcquireAll:
			r.nameKeys(op.Parts)
		}
	}
}

// nameOf returns the name of a key. It is valid until the batch ends.
func (r *Request) nameOf(key []byte) []byte {
	at := len(r.names)
	r.names = database.Append(r.names, r.Database, key)
	return r.names[at:len(r.names):len(r.names)]
}

// ReadDatabase parses the number of a database. databases is how many there are, 0 in a cluster.
func ReadDatabase(text []byte, databases int) (number uint8, err error) {
	n, ok := ParseRedisInt(text)
	switch {
	case !ok:
		return 0, ErrNotInteger
	case n < math.MinInt32 || n > math.MaxInt32:
		return 0, ErrRange.With(math.MinInt32, math.MaxInt32)
	case n == 0:
		return 0, nil
	case databases == 0:
		return 0, errSelectInCluster
	case n < 0 || n >= int64(databases):
		return 0, ErrDBIndex
	}
	return uint8(n), nil
}

// SelectsDatabase returns the database that a command selects. ok is false if it is not a SELECT, or one that will
// fail.
func (r *Row) SelectsDatabase(args [][]byte, databases int) (number uint8, ok bool) {
	if r.Run == nil || r.FullName != "select" {
		return 0, false
	}
	number, err := ReadDatabase(args[1], databases)
	return number, err == nil
}
