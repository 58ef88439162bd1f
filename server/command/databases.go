package command

import (
	"math"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/database"
	"github.com/stintdb/stint/server/resp"
)

// Databases are separate key spaces for data and limiters. A cluster has one, as Redis Cluster has.

var databaseRows = []Row{{
	Name: "move", Syntax: "key db", Group: "generic", Summary: "Give data to another database, if that has no such key.",
	Returns: "1, or 0 if the key does not exist or the other database has one of that name.",
	Example: "counter 1", Cost: ValueCopy, Flags: Write | Fast, Keys: usedKey, Data: move,
}, {
	Name: "swapdb", Syntax: "index1 index2", Group: "server", Summary: "Always an error: databases keep their numbers.",
	Returns: "an error.", Example: "0 1",
	Cost: Light, Flags: Write | Fast | Dangerous | AllKeys, Run: runSwapDB,
}}

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

// readDatabase reads the number of a database. databases is their count, 0 in a cluster.
func readDatabase(text []byte, databases int) (number uint8, err error) {
	n, ok := parseRedisInt(text)
	switch {
	case !ok:
		return 0, ErrNotInteger
	case n < math.MinInt32 || n > math.MaxInt32:
		return 0, errRange.With(math.MinInt32, math.MaxInt32)
	case n == 0:
		return 0, nil
	case databases == 0:
		return 0, errSelectInCluster
	case n < 0 || n >= int64(databases):
		return 0, ErrDBIndex
	}
	return uint8(n), nil
}

func runSelect(s Session, w *resp.Writer, args [][]byte) {
	number, err := readDatabase(args[1], s.Databases())
	if err != nil {
		w.Error(err.Error())
		return
	}
	s.Client().Database = number
	w.Status("OK")
}

func runSwapDB(s Session, w *resp.Writer, _ [][]byte) {
	if s.Databases() == 0 {
		w.Error(errSwapInCluster.Error())
		return
	}
	w.Error(errSwapDB.Error())
}

// SelectsDatabase returns the number that a command selects, if it is a SELECT that succeeds with this number of databases.
func (r *Row) SelectsDatabase(args [][]byte, databases int) (number uint8, ok bool) {
	if r.Run == nil || r.FullName != "select" {
		return 0, false
	}
	number, err := readDatabase(args[1], databases)
	return number, err == nil
}

// selectInScript has the rest of the script use another database. That of the connection stays.
func selectInScript(c *DataCall) {
	number, err := readDatabase(c.Args[1], c.executor.Databases)
	if err != nil {
		c.fail(err)
		return
	}
	c.Tx.Select(number)
	c.Writer.Status("OK")
}

func move(c *DataCall) {
	if c.executor.Databases == 0 {
		c.fail(errMoveInCluster)
		return
	}
	key, from := c.Args[1], c.Tx.Database()
	to, err := readDatabase(c.Args[2], c.executor.Databases)
	switch {
	case err != nil:
		c.fail(err)
		return
	case to == from:
		c.fail(errSameKey)
		return
	}
	v, found := c.Tx.Get(key)
	if !found {
		c.Writer.Int(0)
		return
	}
	if !c.mayReplace(key) {
		return
	}
	c.Tx.Select(to)
	_, exists := c.Tx.Get(key)
	if !exists {
		c.Tx.Set(key, v)
	}
	c.Tx.Select(from)
	if !exists {
		c.Tx.Delete(key)
	}
	c.Writer.Bool(!exists)
}
