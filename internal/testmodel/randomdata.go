package testmodel

import (
	"math/big"
	"strconv"
)

// dataKeys are keys of Redis's GCRA and INCREX. Some are asked by both.
var dataKeys = []string{"gcra:0", "gcra:1", "gcra:{2}", "count:0", "count:1", "data:0"}

// dataCommand is a call of GCRA or INCREX.
func dataCommand(c *Calls) []string {
	key := c.pick(dataKeys...)
	if isGCRA := key[0] == 'g' || key[0] == 'd' && c.chance(2); !isGCRA {
		return increxCall(c, key)
	}
	words := []string{c.pick("GCRA", "gcra"), key, strconv.Itoa(c.random.IntN(8)), strconv.Itoa(1 + c.random.IntN(1000)), c.pick("0.001", "0.5", "1", "2.5", "60", "3600", "86400")}
	if c.chance(30) {
		words[2] = c.pick("200000000", "9000000000000", "1000000000000000000")
	}
	if c.chance(2) {
		words = append(words, c.pick("TOKENS", "NUM_REQUESTS"), strconv.Itoa(1+c.random.IntN(9)))
		if c.chance(20) {
			words[6] = c.pick("200000000", "9000000000000", "1000000000000000000")
		}
	}
	return words
}

func increxCall(c *Calls, key string) []string {
	words := []string{c.pick("INCREX", "increx"), key}
	number := func(denominator int64) string { return eighths(big.NewRat(c.random.Int64N(400)-150, denominator)) }
	denominator := int64(1)
	switch {
	case c.chance(5):
		denominator = 8
		words = append(words, "BYFLOAT", number(8))
	case c.chance(2):
		words = append(words, "BYINT", number(1))
	}
	if c.chance(2) {
		words = append(words, "UBOUND", number(denominator))
	}
	if c.chance(3) {
		words = append(words, "LBOUND", number(denominator))
	}
	if c.chance(3) {
		words = append(words, "SATURATE")
	}
	switch c.random.IntN(5) {
	case 0, 1:
		words = append(words, "EX", c.pick("1", "2", "60", "86400"))
		if c.chance(2) {
			words = append(words, "ENX")
		}
	case 2:
		words = append(words, "PERSIST")
	}
	return words
}

// dataLook is a look at a key of data.
func dataLook(c *Calls) []string {
	return []string{c.pick("GET", "PTTL", "TTL", "TYPE", "EXISTS", "DEL", "RL.INFO"), c.pick(dataKeys...)}
}
