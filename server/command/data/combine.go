package data

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/server/command"
)

// ReadLimit parses the LIMIT of SINTERCARD and ZINTERCARD, and returns 0 if there is none.
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

// WriteUpTo replies with n, or with the limit if that is smaller. A limit of 0 is none.
func WriteUpTo(c *Call, n int, limit int64) {
	if limit == 0 {
		limit = int64(n)
	}
	c.Writer.Int(min(int64(n), limit))
}

// maxCombined limits the members of all sets that one command combines, because the command sorts them.
const maxCombined = 20_000

// MayCombine reports whether a command may combine sets with this many members in total, and writes the error if not.
func (c *Call) MayCombine(members int) bool {
	if members > maxCombined {
		c.Fail(errManyMembers.With(maxCombined))
		return false
	}
	return true
}

// StoreValue replaces a key's data, or deletes the key if the new data is empty. It writes the error if the key holds a
// limiter.
func StoreValue(c *Call, to []byte, kind engine.Kind, data []byte) (ok bool) {
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
