package purse

import (
	"sync/atomic"

	"github.com/stintdb/stint/engine/database"
)

// Counts counts the purses in a store. Another cluster has lent the tokens of keys that the store owns. The home of all
// other keys is another store of this cluster.
type Counts struct {
	owns      func(key []byte) bool // nil if the store owns every key
	own, away atomic.Int64
}

// CountBy sets which keys the store owns, nil for all. It is called before the other methods.
func (c *Counts) CountBy(owns func(key []byte) bool) { c.owns = owns }

// Count notes n more purses of a name, or fewer if n is below zero.
func (c *Counts) Count(name []byte, n int64) {
	if c.owns == nil || c.owns(database.KeyOf(name)) {
		c.own.Add(n)
	} else {
		c.away.Add(n)
	}
}

// PurseCount returns the number of purses of keys that the store owns.
func (c *Counts) PurseCount() int64 { return c.own.Load() }

// AwayPurseCount returns the number of purses of other keys.
func (c *Counts) AwayPurseCount() int64 { return c.away.Load() }
