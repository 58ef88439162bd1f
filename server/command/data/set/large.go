package set

import (
	"bytes"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/datatype"
	"github.com/stintdb/stint/engine/large"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/command/data"
)

// The commands on sets in blocks.

// addLarge is addTo of a set in blocks. It returns false as done if the set is not in blocks.
func addLarge(c *data.Call, key []byte, members [][]byte) (added int, ok, done bool) {
	s, ok := c.EditLarge(key, engine.SetKind, datatype.Size(members))
	if s == nil {
		return 0, false, !ok
	}
	c.SpendOn(len(members), 0)
	for _, member := range members {
		if s.Put(member, nil) {
			added++
		}
	}
	return added, true, true
}

// mostPopped is the number of members up to which SPOP chooses them one by one.
const mostPopped = 1000

// popLarge is SPOP of a set in blocks.
func popLarge(c *data.Call, s *large.Value, count int64, counts bool) {
	n := int(min(count, int64(s.Len())))
	r := data.NewChoice(c, s.Len())
	members := make([][]byte, 0, n)
	c.SpendOn(n, 0)
	c.Tx.Spend(n * command.WriteWork)
	if counts {
		c.Writer.Array(n)
	}
	r.Few(n, s.Len(), func(i int) {
		member := bytes.Clone(s.At(i).Key)
		c.Writer.Bulk(member)
		members = append(members, member)
	})
	if n > 0 {
		c.DeleteLarge(c.Args[1], engine.SetKind, members)
	}
}

func areInLarge(c *data.Call, s *large.Value) {
	c.SpendOn(len(c.Args)-2, 0)
	c.Writer.Array(len(c.Args) - 2)
	for _, member := range c.Args[2:] {
		_, found := s.Find(member)
		c.Writer.Bool(found)
	}
}

func getLarge(c *data.Call, s *large.Value) { data.WriteElements(c, s, 0, s.Len(), true, false) }
