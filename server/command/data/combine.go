package data

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/server/command"
)

var NumberedKeys = command.Keys{Number: 1, Access: command.Reads}

// ReadLimit reads the LIMIT of SINTERCARD and ZINTERCARD, 0 for none.
func ReadLimit(c *Call, words [][]byte) (limit int64, ok bool) {
	for ; len(words) > 0; words = words[2:] {
		if len(words) == 1 || !command.IsWord(words[0], "LIMIT") {
			c.Fail(command.ErrSyntax)
			return 0, false
		}
		if limit, ok = c.AtLeast(words[1], errNegativeLimit); !ok {
			return 0, false
		}
	}
	return limit, true
}

// WriteUpTo writes a number, at most the limit.
func WriteUpTo(c *Call, n int, limit int64) {
	if limit == 0 {
		limit = int64(n)
	}
	c.Writer.Int(min(int64(n), limit))
}

// maxCombined bounds the members of the sets, or sorted sets, that one command combines: it sorts them all.
const maxCombined = 20_000

// MayCombine reports whether a command may combine sets of that many members, and writes the error.
func (c *Call) MayCombine(members int) bool {
	if members > maxCombined {
		c.Fail(errManyMembers.With(maxCombined))
		return false
	}
	return true
}

// StoreValue keeps a value in a key, in place of its data, or nothing if it is empty. It writes the error if a limiter has the key.
func StoreValue(c *Call, to []byte, kind limits.Algorithm, data []byte) (ok bool) {
	if !c.MayReplace(to) {
		return false
	}
	if len(data) == 0 {
		c.Tx.Delete(to)
	} else {
		c.Tx.Set(to, engine.Value{Kind: kind, Data: data})
	}
	return true
}
