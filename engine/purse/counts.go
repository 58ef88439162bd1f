package purse

import (
	"sync/atomic"

	"github.com/stintdb/stint/engine/database"
)

// Counts are the numbers of purses in a store: of keys that it owns, whose tokens another cluster has lent, and of others, whose home is another store
// of this cluster.
type Counts struct {
	owns      func(key []byte) bool // nil if the store owns every key
	own, away atomic.Int64
}

// CountBy is called before the others. owns may be nil, for every key.
func (c *Counts) CountBy(owns func(key []byte) bool) { c.owns = owns }

// Count takes n more purses of a name in, or fewer.
func (c *Counts) Count(name []byte, n int64) {
	if c.owns == nil || c.owns(database.KeyOf(name)) {
		c.own.Add(n)
	} else {
		c.away.Add(n)
	}
}

// PurseCount is the number of purses of keys that the store owns.
func (c *Counts) PurseCount() int64 { return c.own.Load() }

// AwayPurseCount is the number of purses of other keys.
func (c *Counts) AwayPurseCount() int64 { return c.away.Load() }
