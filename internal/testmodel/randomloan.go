package testmodel

import (
	"slices"
	"strconv"
)

// loanCommand is an operation on the loans of a key, mostly one that follows the last.
func (c *Calls) loanCommand() []string {
	k := c.lendable()
	held, holder := c.Model.held(k.name), c.holder()
	if s, ok := held.(*lent); ok && !c.chance(4) {
		holder = s.all[c.random.IntN(len(s.all))].holder
	}
	last := (&loanCall{request: request{holder: holder}}).loanOf(held)
	c.number++
	number, previous, left := c.number, last.number, c.random.Int64N(last.tokens+1)
	switch c.random.IntN(12) {
	case 0:
		previous = c.random.Int64N(c.number)
	case 1: // the last one again
		number, previous = max(1, last.number), last.number-1
	case 2:
		left = last.tokens + c.random.Int64N(2)
	}
	numbers := []string{last.holder, strconv.FormatInt(number, 10), strconv.FormatInt(previous, 10)}
	switch n := c.random.IntN(20); {
	case n < 3:
		words := slices.Concat([]string{"RL.RETURN", k.name}, numbers, []string{strconv.FormatInt(left, 10)})
		if c.chance(3) {
			words = append(words, "KEEP", strconv.FormatInt(c.random.Int64N(last.tokens-min(left, last.tokens)+2), 10))
		}
		return words
	case n < 6:
		return []string{"RL.VOID", k.name, last.holder, "FORCE"}[:3+c.random.IntN(2)]
	case n < 8:
		return []string{"RL.LENT", k.name}
	}
	limit := c.limit(k)
	words := slices.Concat([]string{c.pick("RL.LEND", "rl.lend"), k.name, c.pick(k.form.word, k.form.word, "tb")}, limit, []string{c.tokens(40)}, numbers)
	if c.chance(4) {
		words = append(words, "ALL")
	}
	if !c.chance(4) {
		words = append(words, "LEFT", strconv.FormatInt(left, 10))
	}
	if c.chance(2) {
		words = append(words, "FOR", c.duration(8))
	}
	return append(append(append(words, randomAnchor(c, k.form, limit)...), randomHistory(c, k.form, limit)...), randomWarn(c)...)
}

// lendable is a key that mostly may have loans, and often has some.
func (c *Calls) lendable() (k *randomKey) {
	for range 100 {
		k = c.keys[c.random.IntN(len(c.keys))]
		if _, has := c.Model.held(k.name).(*lent); has || c.chance(60) {
			return k
		}
		if slices.Contains([]string{gcra, tokenBucket, leakyBucket, fixedWindow}, k.form.algorithm) && c.chance(8) {
			return k
		}
	}
	return k
}

// Drop is the commands that leave nothing of a key.
func (c *Calls) Drop(key string) (commands [][]string) {
	for _, holder := range holders {
		commands = append(commands, []string{"RL.VOID", key, holder, "FORCE"})
	}
	return append(commands, []string{"DEL", key})
}

// DropAll is the commands that leave nothing of all keys that calls name: FLUSHALL leaves loans.
func (c *Calls) DropAll() (commands [][]string) {
	for _, key := range c.names() {
		commands = append(commands, c.Drop(key)...)
	}
	return commands
}
