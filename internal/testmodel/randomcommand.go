package testmodel

import (
	"fmt"
	"slices"
	"strings"
)

// command is a random call.
func (c *Calls) command() (words []string) {
	switch n := c.random.IntN(114); {
	case n >= 110:
		return randomCredits(c)
	case n >= 107:
		return dataLook(c)
	case n >= 100:
		return dataCommand(c)
	case n < 5:
		if words = c.settlement(); c.chance(2) {
			words = c.extension()
		}
	case n < 7:
		words = c.again()
	case n < 12:
		words = c.loanCommand()
	case n < 62:
		words = c.acquire(c.keys[c.random.IntN(len(c.keys))])
	case n < 70:
		words = c.several()
	case n < 77:
		words = c.check()
	case n < 79:
		words = c.policyCommand()
	case n < 81:
		words = c.atMost()
	case n < 82:
		words = []string{"RL.REFUND", c.key(), c.tokens(5)}
	case n < 85:
		words = []string{"CC.RELEASE", c.key(), c.holder()}
	case n < 86:
		words = []string{"CC.HOLDERS", c.key()}
	case n < 87:
		words = []string{c.pick("DEL", "UNLINK"), c.key()}
		if c.chance(2) {
			words = append(words, c.key(), words[1])
		}
	default:
		words = c.look()
	}
	if c.chance(25) {
		words = c.spoil(words)
	}
	return words
}

func (c *Calls) look() []string {
	switch c.random.IntN(8) {
	case 5:
		if c.policy && !c.Model.inMulti && c.chance(3) {
			return c.policyUsage()
		}
		return []string{c.pick("RL.USAGE", "rl.usage"), c.key()}
	case 0:
		return []string{"PTTL", c.key()}
	case 1:
		return []string{"TTL", c.key()}
	case 2:
		return []string{"TYPE", c.key()}
	case 3:
		return []string{"EXISTS", c.key(), c.key(), c.key()}
	case 4:
		return []string{"SL.LOG", c.key(), "COUNT", c.tokens(2)}[:2+2*c.random.IntN(2)]
	}
	return []string{"RL.INFO", c.key()}
}

func (c *Calls) key() string {
	if c.chance(15) {
		return c.pick(reservationIDs...)
	}
	return c.keys[c.random.IntN(len(c.keys))].name
}

func (c *Calls) id() string { return c.pick(ids...) }

var holders = []string{"a", "b", "c", "d", "e", "f"}

func (c *Calls) holder() string { return c.pick(holders...) }

// acquire is a call for a key, mostly with its own algorithm.
func (c *Calls) acquire(k *randomKey) []string {
	f := k.form
	if f.algorithm == penalty {
		return c.knock()
	}
	limit := c.limit(k)
	if c.chance(50) {
		f = &forms[c.random.IntN(len(forms)-1)] // but no PENALTY, which is the last
		limit = c.newLimit(f)
	}
	words := append([]string{commandOf(f.algorithm), k.name}, limit...)
	if c.chance(20) {
		words[0] = fmt.Sprintf("%c%s", words[0][0]|0x20, words[0][1:])
	}
	switch f.algorithm {
	case gcra:
		if c.chance(2) {
			words = append(words, c.pick("0", c.tokens(4)))
		}
		return words
	case concurrency:
		words = append(words, c.holder())
	case balance:
		if c.chance(2) {
			words = append(words, c.tokens(20))
		}
		return c.as(append(words, c.options(balance)...), nil)
	default:
		if c.chance(2) {
			words = append(words, c.tokens(4))
		}
	}
	words = append(append(append(words, c.options(f.algorithm)...), randomAnchor(c, f, limit)...), randomHistory(c, f, limit)...)
	words = append(append(append(words, randomRollover(c, f, limit)...), randomSegments(c, f, limit)...), randomWarn(c)...)
	words = append(words, randomSpread(c, k.name, f, slices.Contains(words, "PEEK"))...)
	if f.algorithm == concurrency || f.algorithm == leakyQueue {
		return words
	}
	return c.as(words, nil)
}

// options are some of the options that an algorithm has.
func (c *Calls) options(algorithm string) (words []string) {
	if c.chance(8) {
		words = append(words, "PEEK")
	}
	if algorithm == concurrency {
		if c.chance(6) {
			words = append(c.block(words), c.priority(2)...)
		}
		return words
	}
	if algorithm == balance {
		if c.chance(3) {
			words = append(words, c.pick("UPTO", "FORCE", "upto", "UPTO"))
		}
		return words
	}
	meters := algorithm == tokenBucket || algorithm == leakyBucket
	if algorithm != leakyQueue && c.chance(5) {
		words = append(words, "KEEP", c.keep())
		if c.chance(3) {
			words = append(words, "UPTO")
		}
		if !c.chance(10) {
			return words
		}
	}
	switch n := c.random.IntN(20); {
	case algorithm != leakyQueue && n == 0:
		return append(words, "FORCE")
	case algorithm != leakyQueue && n < 3 && !slices.Contains(words, "UPTO"):
		words = append(words, "upto")
	}
	switch n := c.random.IntN(20); {
	case meters && n < 3:
		words = append(words, "MAXWAIT", c.duration(3))
	case (meters || algorithm == leakyQueue) && n == 3:
		words = c.block(words)
	}
	return words
}

// block adds a BLOCK to options. The reply comes at once: it is in a transaction, or a PEEK.
func (c *Calls) block(words []string) []string {
	if !c.Model.inMulti && !slices.Contains(words, "PEEK") {
		words = append([]string{"PEEK"}, words...)
	}
	return append(words, "BLOCK", c.duration(3))
}

func (c *Calls) policyCommand() []string {
	name := c.pick("p", "q")
	if !c.policy {
		return c.look()
	}
	which := c.random.IntN(8)
	if c.Model.inMulti || c.hideCounts { // in a transaction the server answers it last, so it shows the effect of later commands
		which %= 4
	}
	switch which {
	case 0:
		if c.chance(3) {
			return []string{"rl.policy", "del", name}
		}
		fallthrough
	case 1, 2:
		if c.chance(10) {
			return append([]string{"RL.POLICY", "SET", name}, meeting[c.random.IntN(len(meeting))]...)
		}
		words := append([]string{"RL.POLICY", "SET", name}, c.specs(1+c.random.IntN(3), "pol:")...)
		if c.chance(3) {
			words = append(words, "SHADOW")
		}
		return words
	case 3:
		words := []string{"RL.POLICY", "OVERRIDE", name, c.id()}
		if c.chance(3) {
			return append(words, "NONE")
		}
		return append(words, c.specs(1+c.random.IntN(2), "pol:")...)
	case 4:
		return []string{"RL.POLICY", "LIST"}
	case 5:
		return []string{"RL.POLICY", "GET", name, c.id()}
	}
	if c.chance(3) {
		words := []string{"RL.POLICY", "OVERRIDES", name, "COUNT", c.pick("1", "2", "9", "0")}
		if c.chance(2) {
			words = append(words, "FROM", c.id())
		}
		return words
	}
	return []string{"RL.POLICY", "GET", name}
}

// keyed reports whether a word is a key.
func (c *Calls) keyed(word string) bool {
	return slices.ContainsFunc(c.keys, func(k *randomKey) bool { return k.name == word })
}

// spoil makes bad input of a call: one word is replaced, left out or added. A BLOCK keeps its PEEK, without which the
// reply would be held.
func (c *Calls) spoil(call []string) []string {
	words := c.spoilWord(slices.Clone(call))
	if slices.Contains(call, "BLOCK") && !slices.Contains(words, "PEEK") && !c.Model.inMulti {
		return call
	}
	return words
}

func (c *Calls) spoilWord(words []string) []string {
	if len(words) < 3 {
		return words
	}
	i := 2 + c.random.IntN(len(words)-2)
	switch c.random.IntN(8) {
	case 0:
		return words[:i]
	case 1:
		others := []string{"PEEK", "UPTO", "FORCE", "SOON", "MAXWAIT", "BLOCK", "TOKENS", "SHADOW", "NONE", "1", "COST", "KEEP", "WITH", "AS", "FOR", "COSTS", "-", "SPREAD", "PRIORITY", "SPLIT", "ELSE", "ROLLOVER", "EXPIRE"}
		return append(words, c.pick(others...))
	case 2:
		return append(words, c.pick("FORCE", "MAXWAIT", "PEEK", "KEEP", "COST", "WITH", "AS", "FOR", "PRIORITY"), c.pick("UPTO", "1s", "BLOCK", "PEEK", "10y", "1", "0", "50%"))
	case 3:
		if c.keyed(words[1]) {
			words[1] = strings.Repeat("y", mostKey+1)
			return words
		}
	}
	words[i] = c.pick("", "0", "-1", "ten", "1.5", "1e3", "99999999999999999999", "9223372036854775808", "-9223372036854775809", "+5", "007", " 1", "1 ",
		"0x10", "1_000", "0.5ms", "3651d", "10y", "1w", "5 s", "1.", ".5", ".5s", "-1s", "1M", "1/", "/s", "1//s", "1/0", "1/1w", "1/.5s", "1 per s", "0/s", "NaN", "inf", "@", "@year",
		"@0.1ms", "1000000000001", "1000000000000", "1/3650d", "2.5", "{}", "CL", "TB", "COST", "KEEP", "LQ", "BAL", "ELSE", "101%", "{", "}}", "{a")
	return words
}

// meeting are limits whose keys can be the same.
var meeting = [][]string{
	{"TB", "meet:{}", "5", "1/s", "TB", "meet:x", "5", "1/s"}, {"TB", "{}", "5", "1/s", "FW", "{user}", "5", "10s"},
	{"FW", "{tenant}:{}", "5", "10s", "FW", "{user}:{tenant}", "5", "10s"}, {"TB", "all", "5", "1/s", "TB", "{}l", "5", "1/s"},
}
