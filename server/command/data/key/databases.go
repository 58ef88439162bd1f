package key

import (
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/command/data"
	"github.com/stintdb/stint/server/resp"
)

// Databases are separate sets of keys for data and limiters. A cluster has one, like Redis Cluster.

var databaseRows = []command.Row{{
	Name: "select", Syntax: "index", Group: "connection",
	Summary: "Choose a database by its number, from 0 to `--databases` - 1. A cluster has only database 0.",
	Returns: "`OK`.", Example: "0",
	Cost: command.Light, Flags: command.Fast | command.Connection, Run: runSelect, Data: data.Code(selectInScript),
}, {
	Name: "move", Syntax: "key db", Group: "generic", Summary: "Move data to another database, if the key does not exist there.",
	Returns: "1, or 0 if the key does not exist, or exists in the other database.",
	Example: "counter 1", Cost: command.ValueCopy, Flags: command.Write | command.Fast, Keys: command.UsedKey, Data: data.Code(move),
}, {
	Name: "swapdb", Syntax: "index1 index2", Group: "server", Summary: "Always an error: databases cannot be swapped.",
	Returns: "an error.", Example: "0 1",
	Cost: command.Light, Flags: command.Write | command.Fast | command.Dangerous | command.AllKeys, Run: runSwapDB,
}}

func runSelect(s command.Session, w *resp.Writer, args [][]byte) {
	number, err := command.ReadDatabase(args[1], s.Databases())
	if err != nil {
		w.Error(err.Error())
		return
	}
	s.Client().Database = number
	w.Status("OK")
}

func runSwapDB(s command.Session, w *resp.Writer, _ [][]byte) {
	if s.Databases() == 0 {
		w.Error(errSwapInCluster.Error())
		return
	}
	w.Error(errSwapDB.Error())
}

// selectInScript selects a database for the rest of the script. The connection's database does not change.
func selectInScript(c *data.Call) {
	number, err := command.ReadDatabase(c.Args[1], c.Databases())
	if err != nil {
		c.Fail(err)
		return
	}
	c.Tx.Select(number)
	c.Writer.Status("OK")
}

func move(c *data.Call) {
	if c.Databases() == 0 {
		c.Fail(errMoveInCluster)
		return
	}
	key, from := c.Args[1], c.Tx.Database()
	to, err := command.ReadDatabase(c.Args[2], c.Databases())
	switch {
	case err != nil:
		c.Fail(err)
		return
	case to == from:
		c.Fail(errSameKey)
		return
	}
	v, found := c.Tx.Get(key)
	if !found {
		c.Writer.Int(0)
		return
	}
	if !c.MayReplace(key) {
		return
	}
	c.Tx.Select(to)
	_, exists := c.Look(key)
	if !exists {
		c.Tx.Set(key, v)
	}
	c.Tx.Select(from)
	if !exists {
		c.Tx.Delete(key)
	}
	c.Writer.Bool(!exists)
}
