package command

import (
	"math"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/database"
)

// NameKeys puts the names of keys, in the request's database, into the places of the keys of operations on limiters. A policy and its limits are
// the server's: they are in database 0.
func (r *Request) NameKeys(ops []engine.Op) {
	if r.Database != 0 || r.isMarked {
		r.nameKeys(ops)
	}
}

func (r *Request) nameKeys(ops []engine.Op) {
	for i := range ops {
		switch op := &ops[i]; {
		case op.Verb.HasOneKey(), op.Verb == engine.Settle:
			op.Key = r.nameOf(op.Key)
		case op.Verb == engine.Reserve:
			op.Key = r.nameOf(op.Key)
			r.nameKeys(op.Parts)
		case op.Verb == engine.AcquireAll:
			r.nameKeys(op.Parts)
		}
	}
}

// nameOf is the name of a key, for as long as the batch lasts.
func (r *Request) nameOf(key []byte) []byte {
	at := len(r.names)
	r.names = database.Append(r.names, r.Database, key)
	return r.names[at:len(r.names):len(r.names)]
}

// ReadDatabase reads the number of a database. databases is their count, 0 in a cluster.
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

// SelectsDatabase returns the number that a command selects, if it is a SELECT that succeeds with this number of databases.
func (r *Row) SelectsDatabase(args [][]byte, databases int) (number uint8, ok bool) {
	if r.Run == nil || r.FullName != "select" {
		return 0, false
	}
	number, err := ReadDatabase(args[1], databases)
	return number, err == nil
}
