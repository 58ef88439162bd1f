package testmodel

import (
	"slices"
	"strings"
)

// ids are the callers of policies, and values are values of the field that the policies ask for.
var ids, values = []string{"1", "2", "3", "", "{}"}, []string{"acme", "a:b%", ""}

// several is a call for several keys.
func (c *Calls) several() []string {
	words := append([]string{"RL.ALL"}, c.specs(1+c.random.IntN(4), "")...)
	if c.chance(2) {
		words = append(words, "TOKENS", c.tokens(4))
	}
	return c.as(append(words, c.callOptions(false)...), nil)
}

// check is a check of a policy.
func (c *Calls) check() []string {
	name, id := c.pick("p", "q", "p", "q", "p", "q", "none"), c.id()
	words := []string{c.pick("RL.CHECK", "rl.check"), name, id}
	if c.chance(2) {
		words = append(words, c.tokens(5))
	}
	words = append(words, c.callOptions(true)...)
	if c.chance(3) {
		words = append(words, "WARN")
	}
	return c.as(words, c.with(name, id))
}

// blocking is a call that may have to wait, nil if there is none.
func (c *Calls) blocking() []string {
	block := []string{"BLOCK", c.pick("1h", "1s", "250ms", "1ms")}
	k := c.keys[c.random.IntN(len(c.keys))]
	if a := k.form.algorithm; c.chance(2) && k.words != nil && (a == tokenBucket || a == leakyBucket || a == leakyQueue) {
		return slices.Concat([]string{commandOf(a), k.name}, k.words, block)
	} else if a == concurrency && k.words != nil {
		call := slices.Concat([]string{commandOf(a), k.name}, k.words, []string{c.holder()})
		if strings.HasPrefix(c.Model.Do(append(call, "PEEK")...), "*5\r\n:1\r\n") {
			return slices.Concat(call, block, c.priority(2))
		}
	}
	for range 20 {
		call, with := slices.Concat([]string{"RL.ALL"}, c.specs(1+c.random.IntN(3), ""), []string{"TOKENS", c.tokens(8)}), []string{}
		if c.chance(2) {
			name, id := c.pick("p", "q"), c.id()
			call, with = []string{"RL.CHECK", name, id, c.tokens(8)}, c.with(name, id)
		}
		reply := c.Model.Do(slices.Concat(call, block, []string{"PEEK"}, with)...)
		// A client that waits for a place counts as blocked before its request is decided. So nobody would know when the
		// time may move, and the request must be granted at once.
		isForPlace := slices.Contains(call, "CC") || call[0] == "RL.CHECK" && c.Model.policies[call[1]].hasLeases(call[2])
		if lines := strings.Split(reply, "\r\n"); len(lines) > 3 && lines[1] != ":0" && (lines[3] == ":0") == isForPlace {
			return slices.Concat(call, block, with)
		}
	}
	return nil
}

// hasLeases reports whether a caller's checks can be denied for a place among leases.
func (p *policy) hasLeases(id string) bool {
	return p != nil && !p.shadow && slices.ContainsFunc(p.limitsFor(id), func(r request) bool { return r.limit.algorithm == concurrency })
}

// callOptions are options of a call for several limits.
func (c *Calls) callOptions(keeps bool) (words []string) {
	if c.chance(8) {
		words = append(words, "PEEK")
	}
	if c.chance(8) {
		words = append(words, c.pick("SPLIT", "split"))
	}
	if keeps && c.chance(3) {
		words = append(words, "KEEP", c.keep())
		if !c.chance(10) {
			return words
		}
	}
	switch c.random.IntN(8) {
	case 0, 1:
		return append(words, "MAXWAIT", c.duration(3))
	case 2:
		words = append(c.block(words), c.priority(3)...)
	}
	return words
}

// priority returns the option PRIORITY for one in oneIn calls with BLOCK, and nothing for the others.
func (c *Calls) priority(oneIn int) []string {
	if c.chance(oneIn) {
		return []string{"PRIORITY", c.pick("0", "5", "9", "7", "10")}
	}
	return nil
}

// with gives the fields that a policy asks for, mostly.
func (c *Calls) with(name, id string) (words []string) {
	p := c.Model.policies[name]
	if p == nil {
		return nil
	}
	for _, field := range p.asks(id) {
		if !c.chance(20) {
			words = append(words, field, c.pick(values...))
		}
	}
	if c.chance(40) {
		words = append(words, c.pick("tenant", "model", "no field"), c.pick("", "x", strings.Repeat("v", mostKey+1)))
	}
	if len(words) > 0 {
		words = append([]string{c.pick("WITH", "with")}, words...)
	}
	return words
}

// specs are limits of different keys, mostly; with a prefix, limits of a policy.
func (c *Calls) specs(n int, prefix string) (words []string) {
	all := c.different(n)
	if c.chance(3) {
		all = append(all, c.balance())
	}
	if c.chance(3) {
		all = append(all, c.penalty())
	}
	isBalance := func(k *randomKey) bool { return k.form.algorithm == balance }
	if balances := len(all) - len(slices.DeleteFunc(slices.Clone(all), isBalance)); balances > 0 && !c.chance(20) { // one, as the last
		all = append(slices.DeleteFunc(all, isBalance), c.balance())
	}
	for _, k := range all {
		name, holder := k.name, c.holder()
		if prefix != "" {
			name = c.template(k, prefix)
			holder = c.pick(holder, holder, holder, "{}", "h{tenant}")
		}
		limit := c.limit(k)
		if isBalance(k) && !c.chance(4) {
			words = append(words, c.pick("ELSE", "ELSE", "else"))
		}
		words = append(append(words, k.form.word, name), limit...)
		if k.form.algorithm == concurrency {
			words = append(words, holder)
		}
		if isBalance(k) {
			words = append(words, c.balanceOptions()...)
			continue
		}
		if k.form.algorithm == penalty && !c.chance(12) {
			words = append(words, randomDoubling(c, k.form)...)
			continue
		}
		words = append(append(append(words, randomAnchor(c, k.form, limit)...), randomHistory(c, k.form, limit)...), randomSegments(c, k.form, limit)...)
		words = append(append(append(words, randomRollover(c, k.form, limit)...), randomWarn(c)...), randomSpread(c, name, k.form, false)...)
		words = append(append(words, randomDoubling(c, k.form)...), c.specOptions(k.form)...)
	}
	return words
}

// different are n keys; sometimes those from which something is taken come first.
func (c *Calls) different(n int) []*randomKey {
	keys := slices.Clone(c.keys)
	c.random.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	if !c.chance(3) {
		full := func(k *randomKey) bool { return c.Model.held(k.name) == nil }
		keys = append(slices.DeleteFunc(slices.Clone(keys), full), slices.DeleteFunc(keys, func(k *randomKey) bool { return !full(k) })...)
	}
	return keys[:n]
}

// template is a key of a policy.
func (c *Calls) template(k *randomKey, prefix string) string {
	switch n := c.random.IntN(40); {
	case n < 14:
		return prefix + "id." + k.form.word + "{}"
	case n < 20:
		return prefix + "field." + k.form.word + ":{tenant}"
	case n == 20:
		return c.pick("{}{}", "{}-{tenant}", "{}:{}", "{ }", "{", "}", "a{}}", "{user:3}:0")
	}
	return strings.NewReplacer("{", "{{", "}", "}}").Replace(k.name)
}

// specOptions are options of one of several limits.
func (c *Calls) specOptions(f *form) (words []string) {
	l := limit{algorithm: f.algorithm}
	if c.chance(3) {
		cost := c.pick("0", "0", "1", c.tokens(4), c.tokens(4))
		if (f.algorithm == concurrency || f.algorithm == penalty) && !c.chance(20) {
			cost = c.pick("0", "1")
		}
		words = append(words, c.pick("COST", "COST", "cost"), cost)
	}
	if l.keeps() && c.chance(3) || c.chance(60) {
		words = append([]string{"KEEP", c.keep()}, words...)
		if c.chance(2) && len(words) == 4 {
			words = append(words[2:], words[:2]...)
		}
	}
	return words
}

// keep is a number of tokens or a share that is kept.
func (c *Calls) keep() string {
	switch c.random.IntN(12) {
	case 0:
		return c.pick("0", "0%", "0.000%", "100%", "100.000%", "0.001%", "99.999%", "1000000000000", "007", "007%", "00050%", "+1")
	case 1:
		return c.tokens(4)
	case 2:
		if c.chance(5) {
			return c.pick("100.001%", "101%", "1.2345%", "%", ".5%", "5.%", "-5%", "+5%", "1e1%", "-1", "1000000000001", "1.5", "", "1%%")
		}
	}
	return c.pick("1", "1", "2", "3", "5", "50%", "10%", "33.333%", "12.5%", "90%", "66.7%")
}
