package testmodel

import (
	"slices"
	"strconv"
)

// reservationIDs are the ids of requests.
var reservationIDs = []string{"id1", "id2", "id3", "id4", "id:{}\xff"}

// as gives a call an id, now and then; rest are the words that must come last.
func (c *Calls) as(words, rest []string) []string {
	if c.chance(4) && (!slices.Contains(words, "PEEK") || c.chance(20)) {
		id := c.pick(reservationIDs...)
		if c.chance(20) {
			id = c.pick("", c.key())
		}
		as := []string{c.pick("AS", "as"), id}
		words = slices.Concat(words, c.pickWords(as, []string{"FOR", c.duration(8)}))
		words = slices.Concat(words, rest)
		c.reserving[id] = words
		return words
	}
	return slices.Concat(words, rest)
}

// pickWords puts two pairs of words one after the other, in either order; now and then one is missing.
func (c *Calls) pickWords(one, other []string) []string {
	switch c.random.IntN(40) {
	case 0:
		return one
	case 1:
		return other
	case 2, 3, 4, 5:
		return slices.Concat(other, one)
	}
	return slices.Concat(one, other)
}

// again is a call with an id once more, mostly unchanged.
func (c *Calls) again() []string {
	words := c.reserving[c.pick(reservationIDs...)]
	if words == nil {
		return c.look()
	}
	if words = slices.Clone(words); c.chance(8) {
		return c.spoil(words)
	}
	return words
}

// settlement settles or cancels an id: with amounts near the charged ones, mostly.
func (c *Calls) settlement() []string {
	id := c.pick(reservationIDs...)
	if c.chance(20) {
		id = c.key()
	}
	if c.chance(4) {
		return []string{c.pick("RL.CANCEL", "rl.cancel"), id}
	}
	words, limits := []string{"RL.SETTLE", id}, 1+c.random.IntN(3)
	v, known := c.Model.held(id).(*reservation)
	if !known || c.chance(3) {
		if c.chance(2) {
			return append(words, c.pick("0", c.tokens(4)))
		}
		words = append(words, c.pick("COSTS", "costs"))
		for range limits {
			words = append(words, c.pick("-", "0", c.tokens(4)))
		}
		return words
	}
	near := func(n int64) string { return strconv.FormatInt(max(0, n+c.random.Int64N(7)-4), 10) }
	if c.chance(2) {
		return append(words, near(v.tokens))
	}
	words = append(words, "COSTS")
	for _, p := range v.parts {
		words = append(words, c.pick("-", near(p.charged), near(p.charged)))
	}
	return words
}

// extension extends an id, mostly by the next number.
func (c *Calls) extension() []string {
	id, n := c.pick(reservationIDs...), int64(1)
	if c.chance(20) {
		id = c.key()
	}
	if v, known := c.Model.held(id).(*reservation); known {
		if n = v.count + 1; c.chance(5) {
			n = max(1, v.count+c.random.Int64N(3)-1)
		}
	}
	words := []string{c.pick("RL.EXTEND", "rl.extend"), id, strconv.FormatInt(n, 10), c.tokens(6)}
	if c.chance(2) {
		words = append(words, c.pick("UPTO", "upto"))
	}
	if c.chance(4) {
		words = append(words, c.pick("FOR", "for"), c.duration(8))
	}
	if c.chance(3) {
		words = append(words, c.pick("SPLIT", "split"))
	}
	return words
}
