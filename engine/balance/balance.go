// Package balance has the credits of a balance, as bytes: what payments have granted, and what was spent of it.
package balance

import (
	"encoding/binary"
	"math"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
)

// Credits are the grants of a balance, which expire in turn. Credits that expire at the same time are one grant.
//
//	offset  size  field
//	0       4     number of grants
//	4       …     grants by the time at which they expire: 8 that time, nanoseconds since the Unix epoch; 8 credits
//	              that were added; 8 those of them that are spent
//
// The grant that does not expire is the last, and is also in debt for what was spent beyond all grants. In a state the
// size of the state stands before the credits, and zeros after them.
type Credits []byte

const (
	head       = 4
	grantBytes = 24

	// Never is the time at which a grant without an expiry expires.
	Never = math.MaxInt64
	// sizeBytes are before the credits in a state.
	sizeBytes = 4
)

// Len is the number of grants.
func (c Credits) Len() int { return int(binary.LittleEndian.Uint32(c)) }

// at returns grant number i.
func (c Credits) at(i int) engine.Credit {
	b := c[head+i*grantBytes:]
	return engine.Credit{Expires: int64(binary.LittleEndian.Uint64(b)), Added: int64(binary.LittleEndian.Uint64(b[8:])),
		Spent: int64(binary.LittleEndian.Uint64(b[16:]))}
}

// set writes grant number i. Of a grant from which more than MaxTokens were spent the difference counts, so that the
// numbers are bounded.
func (c Credits) set(i int, g engine.Credit) {
	if beyond := min(g.Spent-limits.MaxTokens, g.Added); beyond > 0 {
		g.Added, g.Spent = g.Added-beyond, g.Spent-beyond
	}
	b := c[head+i*grantBytes:]
	binary.LittleEndian.PutUint64(b, uint64(g.Expires))
	binary.LittleEndian.PutUint64(b[8:], uint64(g.Added))
	binary.LittleEndian.PutUint64(b[16:], uint64(g.Spent))
}

// insert makes room for a grant before grant number i, and returns the credits with it.
func (c Credits) insert(i int, g engine.Credit) Credits {
	n := c.Len()
	c = append(c, make([]byte, grantBytes)...)
	copy(c[head+(i+1)*grantBytes:], c[head+i*grantBytes:head+n*grantBytes])
	binary.LittleEndian.PutUint32(c, uint32(n+1))
	c.set(i, g)
	return c
}

// placeOf is the number of the first grant that expires no earlier than a time.
func (c Credits) placeOf(expires int64) (i int) {
	for i < c.Len() && c.at(i).Expires < expires {
		i++
	}
	return i
}

// appendLive appends to b the credits of a state without the grants that have expired.
func appendLive(b, state []byte, now int64) Credits {
	all := Credits(state[sizeBytes:])
	from := all.placeOf(now + 1)
	b = binary.LittleEndian.AppendUint32(b, uint32(all.Len()-from))
	return append(b, all[head+from*grantBytes:head+all.Len()*grantBytes]...)
}

// sum returns the credits that were added and have not expired, and those of them that are left, below zero in debt.
func (c Credits) sum(now int64) (added, left int64) {
	for i := c.placeOf(now + 1); i < c.Len(); i++ {
		g := c.at(i)
		added, left = added+g.Added, left+g.Added-g.Spent
	}
	return added, left
}

// take spends n credits, first from the grant that expires first. What the grants do not have becomes a debt.
func (c Credits) take(n int64) Credits {
	for i := 0; i < c.Len() && n > 0; i++ {
		g := c.at(i)
		taken := min(n, max(0, g.Added-g.Spent))
		g.Spent += taken
		n -= taken
		c.set(i, g)
	}
	if n == 0 {
		return c
	}
	last := c.placeOf(Never)
	if last == c.Len() {
		return c.insert(last, engine.Credit{Expires: Never, Spent: n})
	}
	g := c.at(last)
	g.Spent += n
	c.set(last, g)
	return c
}

// add grants n credits until a time that is still to come. They pay a debt first.
func (c Credits) add(n, expires int64) Credits {
	i := c.placeOf(expires)
	if i == c.Len() || c.at(i).Expires != expires {
		c = c.insert(i, engine.Credit{Expires: expires})
	}
	g := c.at(i)
	g.Added += n
	c.set(i, g)
	c.payDebt(0)
	return c
}

// giveBack undoes that at most n credits were spent, in the opposite order: it begins with the grant that expires last
// and no later than until. It returns the number of credits that were given back.
func (c Credits) giveBack(now, n, until int64) (given int64) {
	for i := c.Len() - 1; i >= 0 && given < n; i-- {
		g := c.at(i)
		if g.Expires <= now {
			break
		}
		if g.Expires > until {
			continue
		}
		back := min(n-given, g.Spent)
		g.Spent -= back
		given += back
		c.set(i, g)
	}
	c.payDebt(c.placeOf(now + 1))
	return given
}

// payDebt spends on a debt what the grants have, from grant number from on.
func (c Credits) payDebt(from int) {
	last := c.placeOf(Never)
	if last == c.Len() {
		return
	}
	owed := c.at(last)
	for i := from; i < last && owed.Spent > owed.Added; i++ {
		g := c.at(i)
		paid := min(owed.Spent-owed.Added, max(0, g.Added-g.Spent))
		g.Spent, owed.Spent = g.Spent+paid, owed.Spent-paid
		c.set(i, g)
	}
	c.set(last, owed)
}
