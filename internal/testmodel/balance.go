package testmodel

import (
	"cmp"
	"slices"
	"strconv"
)

// credit is what payments have added until a time, and what of it was spent. More than was added is spent only of the
// credit that never expires: that is a debt.
type credit struct{ expires, added, spent int64 }

func (c *credit) left() int64 { return c.added - c.spent }

const (
	creditNever = mostTime
	mostCredits = 256 // that expire at different times
)

// credits is the state of a balance: its credits in the order in which they are spent.
type credits struct {
	all  []credit
	last int64 // when the last credit expires from which the last request took some
}

func (s *credits) at(now int64) *credits {
	next := &credits{all: slices.Clone(s.all)}
	next.all = slices.DeleteFunc(next.all, func(c credit) bool { return c.expires <= now })
	return next
}

func (s *credits) sum() (added, left int64) {
	for _, c := range s.all {
		added, left = added+c.added, left+c.left()
	}
	return added, left
}

func (s *credits) live(now int64) bool {
	return slices.ContainsFunc(s.at(now).all, func(c credit) bool { return c.added != 0 || c.spent != 0 })
}

func (s *credits) look(now int64) (l limit, remaining, reset int64) {
	added, left := s.at(now).sum()
	return limit{algorithm: balance, most: added}, left, 0
}

func (s *credits) refund(now, tokens int64) state { return s.giveBack(now, tokens, creditNever) }

func (s *credits) boundaries() (times []int64) {
	for _, c := range s.all {
		if c.expires != creditNever {
			times = append(times, c.expires)
		}
	}
	return times
}

// until is the credit that expires at a time. If there is none, it is added.
func (s *credits) until(expires int64) *credit {
	i, found := slices.BinarySearchFunc(s.all, expires, func(c credit, at int64) int { return cmp.Compare(c.expires, at) })
	if !found {
		s.all = slices.Insert(s.all, i, credit{expires: expires})
	}
	return &s.all[i]
}

// tidy pays a debt from the credits that are left. Of a credit of which more was spent than a limit can have, the
// beginning is forgotten.
func (s *credits) tidy() {
	for i := range s.all {
		c, owing := &s.all[i], &s.all[len(s.all)-1]
		if owing.expires == creditNever && c != owing {
			paid := max(0, min(-owing.left(), c.left()))
			c.spent, owing.spent = c.spent+paid, owing.spent-paid
		}
	}
	for i := range s.all {
		c := &s.all[i]
		if beyond := min(c.spent-mostTokens, c.added); beyond > 0 {
			c.added, c.spent = c.added-beyond, c.spent-beyond
		}
	}
}

// spend takes credits, as a debt if there are too few.
func (s *credits) spend(tokens int64) {
	for i := range s.all {
		c := &s.all[i]
		if taken := min(tokens, c.left()); taken > 0 {
			c.spent, tokens, s.last = c.spent+taken, tokens-taken, c.expires
		}
	}
	if tokens > 0 {
		s.until(creditNever).spent += tokens
		s.last = creditNever
	}
	s.tidy()
}

// giveBack undoes that credits were spent that expire until a time, the last first.
func (s *credits) giveBack(now, tokens, until int64) *credits {
	next := s.at(now)
	for i := range slices.Backward(next.all) {
		if c := &next.all[i]; c.expires <= until {
			back := min(tokens, c.spent)
			c.spent, tokens = c.spent-back, tokens-back
		}
	}
	next.tidy()
	return next
}

func creditsAt(held state, now int64) *credits {
	if s, ok := held.(*credits); ok {
		return s.at(now)
	}
	return &credits{}
}

func decideBalance(held state, r *request, now int64, a answer) (answer, state, error) {
	s := creditsAt(held, now)
	added, left := s.sum()
	a.limit, a.remaining, a.tokens, a.wait = added, max(0, left), r.tokens, 0
	if r.upTo {
		a.tokens = min(r.tokens, max(0, left))
	}
	switch {
	case r.force && r.tokens-left > mostTokens:
		return a, nil, debtTooBig
	case !r.force && (a.tokens == 0 || a.tokens > left):
		a.tokens, a.wait = 0, never
		return a, nil, nil
	}
	a.granted, a.remaining = true, left-a.tokens
	s.spend(a.tokens)
	return a, s, nil
}

// addCredits answers BAL.ADD.
func (m *Model) addCredits(words []string) (string, error) {
	r := request{key: words[1], limit: limit{algorithm: balance}, expires: creditNever}
	if err := checkKey(r.key); err != nil {
		return "", err
	}
	var err error
	if r.tokens, err = between("credits", words[2], 1, mostTokens); err != nil {
		return "", err
	}
	if err := r.readOptions("BAL.ADD", words[3:], []string{"AS", "EXPIRE"}); err != nil {
		return "", err
	}
	if r.id == nil {
		return "", refuse("ERR AS: BAL.ADD needs AS and the id of the payment")
	}
	call := request{tokens: r.tokens, id: r.id, length: mostDuration, single: true, asked: describe("BAL.ADD", &r, nil)}
	o, err := m.decideAll([]request{r}, &call)
	if err != nil {
		return "", err
	}
	return integers(o.tokens, o.parts[0].remaining), nil
}

// decideCredits adds credits.
func decideCredits(held state, r *request, now int64) (a answer, next state, err error) {
	s := creditsAt(held, now)
	_, left := s.sum()
	isNew := !slices.ContainsFunc(s.all, func(c credit) bool { return c.expires == r.expires })
	expiring := slices.IndexFunc(append(s.all[:len(s.all):len(s.all)], credit{expires: creditNever}), func(c credit) bool { return c.expires == creditNever })
	switch {
	case left+r.tokens > mostTokens:
		return a, nil, refuse("ERR credits: a balance has at most %d credits; nothing was added", mostTokens)
	case r.expires > now && r.expires != creditNever && isNew && expiring == mostCredits:
		return a, nil, refuse("ERR EXPIRE: the balance already has credits that expire at %d different times, the maximum; nothing was added", mostCredits)
	}
	if r.expires > now {
		s.until(r.expires).added += r.tokens
		s.tidy()
	}
	_, left = s.sum()
	return answer{granted: true, tokens: r.tokens, remaining: left}, s, nil
}

// listCredits answers BAL.INFO.
func listCredits(m *Model, words []string) (string, error) {
	if err := checkKey(words[1]); err != nil {
		return "", err
	}
	s := m.held(words[1])
	if s == nil {
		return null, nil
	}
	if _, err := m.heldFor(words[1], balance); err != nil {
		return "", err
	}
	var grants []string
	for _, c := range creditsAt(s, m.Now).all {
		expires := null
		if c.expires != creditNever {
			expires = integer(c.expires / second)
		}
		if c.left() > 0 {
			grants = append(grants, array(integer(c.left()), expires))
		}
	}
	_, left, _ := s.look(m.Now)
	return array(bulk("balance"), integer(left), bulk("grants"), array(grants...)), nil
}

// isIncluded reports whether a limit before an ELSE gives a part of a cost.
func (r *request) isIncluded() bool {
	switch r.limit.algorithm {
	case gcra, tokenBucket, leakyBucket, fixedWindow, slidingWindow, slidingSegments, slidingLog:
		return !r.cost
	}
	return false
}

// hasElse reports whether the last limit gives what the others cannot.
func hasElse(limits []request) bool { return len(limits) > 0 && limits[len(limits)-1].isElse }

// endsInBalance reports whether the last limit is a balance.
func endsInBalance(limits []request) bool {
	return len(limits) > 0 && limits[len(limits)-1].limit.algorithm == balance
}

// checkElse refuses an ELSE that divides no cost.
func checkElse(limits []request) error {
	if n := len(limits) - 1; slices.ContainsFunc(limits[:max(0, n)], func(r request) bool { return r.limit.algorithm == balance }) {
		return refuse("ERR BAL: must be the last limit")
	}
	if !hasElse(limits) {
		return nil
	}
	isSpread := func(r request) bool { return r.spread }
	isIncluded := func(r request) bool { return r.isIncluded() }
	if limits[len(limits)-1].cost || !slices.ContainsFunc(limits, isIncluded) || slices.ContainsFunc(limits, isSpread) {
		return errElse
	}
	return nil
}

// divide has the included limits give what all of them can of a cost, and the balance the rest.
func (m *Model) divide(limits []request, cost int64, held []state) error {
	most := cost
	for i := range limits {
		if one := limits[i]; one.isIncluded() {
			one.upTo = true
			a, _, err := decide(held[i], &one, m.Now)
			if err != nil {
				return err
			}
			most = min(most, a.tokens)
		}
	}
	for i := range limits {
		if limits[i].isIncluded() {
			limits[i].tokens = most
		}
	}
	limits[len(limits)-1].tokens = cost - most
	return nil
}

// awaitCredits changes the outcome of a request that was denied because the balance has too little: it has to wait until
// the included limits can give what the balance lacks.
func (m *Model) awaitCredits(o *outcome, limits []request, cost int64, held []state) error {
	last := len(limits) - 1
	if o.binding != last {
		return nil
	}
	_, left := creditsAt(held[last], m.Now).sum()
	binding, wait := -1, int64(0)
	for i := range limits[:last] {
		if one := limits[i]; one.isIncluded() {
			one.tokens = cost - max(0, left)
			a, _, err := decide(held[i], &one, m.Now)
			if err != nil {
				return err
			}
			if o.parts[i] = a; !a.granted && a.wait == never {
				return nil
			}
		}
		if a := o.parts[i]; !a.granted && (binding < 0 || a.wait > wait) {
			binding, wait = i, a.wait
		}
	}
	o.binding, o.wait = binding, wait
	return nil
}

// divideUse divides the tokens that a request with ELSE has used, as the request itself would: its amounts, and beyond
// them what all included limits have left, and the rest as a debt of the balance.
func (m *Model) divideUse(v *reservation, used int64) (included, credits int64, err error) {
	most := int64(0)
	for i := range v.parts {
		if p := &v.parts[i]; p.isIncluded() {
			most = p.charged
		}
	}
	if beyond := used - most - v.parts[len(v.parts)-1].charged; beyond > 0 && !v.settled {
		for i := range v.parts {
			p := v.parts[i].request
			if !p.isIncluded() {
				continue
			}
			held := m.held(p.key)
			if held != nil {
				if algorithmOf(held) != p.limit.algorithm {
					beyond = 0
					continue
				}
				p.limit = m.limitOf(held)
			}
			p.tokens, p.upTo, p.force, p.keep, p.wait = beyond, true, false, nil, 0
			if p.tokens == 0 {
				continue
			}
			a, _, err := decide(held, &p, m.Now)
			if err != nil {
				return 0, 0, err
			}
			beyond = min(beyond, a.tokens)
		}
		most += beyond
	}
	return min(used, most), max(0, used-most), nil
}

// randomCredits adds credits, or shows a balance.
func randomCredits(c *Calls) []string {
	k := c.balance()
	if c.chance(4) {
		return []string{c.pick("BAL.INFO", "bal.info"), k.name}
	}
	id := "payment:" + strconv.Itoa(c.random.IntN(6+c.made/20))
	if words := c.reserving[id]; words != nil && !c.chance(4) {
		return words
	}
	words := []string{c.pick("BAL.ADD", "bal.add"), k.name, c.tokens(30), "AS", id}
	if c.chance(20) {
		words[4] = c.pick("", k.name, c.pick(reservationIDs...))
	}
	if c.chance(2) {
		expires := c.Model.Now/second + int64(c.logUniform(1, 1e8))
		if s, ok := c.Model.held(k.name).(*credits); ok && c.chance(2) {
			expires = cmp.Or(s.all[c.random.IntN(len(s.all))].expires%creditNever/second, expires)
		}
		words = append(words, c.pick("EXPIRE", "expire"), c.pick(strconv.FormatInt(expires, 10), strconv.FormatInt(expires, 10), "86400", "9223372036"))
	}
	c.reserving[id] = words
	return words
}

// balance is a key of a balance.
func (c *Calls) balance() *randomKey {
	for {
		if k := c.keys[c.random.IntN(len(c.keys))]; k.form.algorithm == balance {
			return k
		}
	}
}

// balanceOptions are options of a balance among several limits, mostly none.
func (c *Calls) balanceOptions() []string {
	if !c.chance(12) {
		return nil
	}
	options := [][]string{{"COST", c.pick("0", "1", "5")}, {"KEEP", "1"}, {"TZ", "UTC"}, {"FROM", "1"}, {"HISTORY", "2"}, {"ROLLOVER", "50%"}, {"SEGMENTS", "6"}, {"WARN", "80%"}, {"SPREAD"}}
	return options[c.random.IntN(len(options))]
}
