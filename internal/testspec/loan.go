package testspec

// This model is a loan over two or three levels: home owns a limit and lends tokens to a zone, and the zone lends
// tokens of its loan on to a sidecar. Each of them spends tokens; home refills its limit when a window ends.
//
// A zone prepares an operation, home carries it out, and the zone takes the answer in. Several processes of the zone may
// send the prepared operation, at any time. The network keeps up to two operations and two answers of a link, delivers
// them in any order and any number of times, or loses them. A sidecar may be killed with its tokens.
//
// With a time, a loan ends at the lender when as many ticks of its clock have passed, and its tokens count as spent. The
// holder has a clock of its own, which is up to a tick ahead, and stops spending a tick before the end. Tokens that a zone
// lends on have at most the time that the zone itself may still spend them.
//
// Promises: no window grants more than the limit; while a purse has a loan, nothing is lent that it does not expect;
// without a fault all tokens come back.

// Chain is the size of a model of loans.
type Chain struct {
	Levels   int  // of holders: 1 or 2
	Capacity int8 // of the limit, in tokens
	Numbers  int8 // operations on each loan; 0 for any number, which then begin again at 1
	Time     int8 // of loans, in ticks; 0 for loans without an end
	Kept     int  // messages of each kind that the network of a link keeps: 1 or 2; 0 if they arrive at once
}

// chainState is a state of a Chain.
type chainState struct {
	charged, spent int8 // in this window: by home's count, and in truth
	links          [2]link
	isUnknown      bool // a late operation has made a loan that its purse does not know
	isLost         bool // tokens were lent that a purse with a loan did not expect, though no such loan was made
}

// link is a loan: the lender's record, the holder's purse, and the messages between them.
type link struct {
	record  Record[int8]
	until   int8 // ticks of the lender's clock until the loan ends
	purse   Purse[int8]
	next    int8 // the number of the next operation
	age     int8 // ticks of the holder's clock since the last operation that was carried out was prepared
	opAge   int8 // the same since the prepared one was
	time    int8 // that the lender has given
	ahead   int8 // ticks by which the holder's clock is ahead
	killed  bool
	asks    [2]Ask[int8]
	answers [2]timedAnswer
}

// timedAnswer is an answer on its way.
type timedAnswer struct {
	Answer[int8]
	time int8 // that the loan has
}

var chainNames = [3]any{"home", "the zone", "the sidecar"}

// Model returns the model of a chain, with a bug or without.
func (c Chain) Model(bug Bug) Model[chainState] {
	m := chain{c, bug}
	var start chainState
	for i := range c.Levels {
		start.links[i].next = 1
	}
	if c.Numbers > 0 { // too few to come to rest
		return Model[chainState]{Start: start, Steps: m.steps, Wrong: m.wrong, Same: m.same}
	}
	return Model[chainState]{Start: start, Steps: m.steps, Wrong: m.wrong, Rests: m.rests, Same: m.same}
}

type chain struct {
	Chain
	bug Bug
}

func (m chain) wrong(s chainState) string {
	switch {
	case s.spent > m.Capacity:
		return "more than the limit is granted in a window"
	case s.isLost:
		return "tokens are lent that the purse no longer expects, and are lost"
	}
	return ""
}

func (m chain) rests(s chainState) bool {
	for i := range m.Levels {
		l := &s.links[i]
		if l.record.Held > 0 || l.purse.Tokens > 0 {
			return false
		}
	}
	return true
}

func (m chain) steps(s chainState, next *Steps[chainState]) {
	if s.charged+s.links[0].record.Held < m.Capacity {
		to := s
		to.charged++
		to.spent++
		next.Step(to, "home grants a token")
	}
	if s.charged > 0 || s.spent > 0 {
		to := s
		to.charged, to.spent = 0, 0
		if m.bug == TimeRefillsLentTokens {
			to.links[0].record = Record[int8]{}
		}
		next.Step(to, "a window ends, and home refills its limit")
	}
	for i := range m.Levels {
		m.spend(s, i, next)
		m.prepare(s, i, next)
		for at := range m.Kept {
			m.deliver(s, i, at, next)
			m.hear(s, i, at, next)
		}
		m.kill(s, i, next)
	}
	if m.Time > 0 {
		for node := range m.Levels + 1 {
			m.tick(s, node, next)
		}
	}
}

// lentOn is the tokens that the holder of a link lends on.
func (m chain) lentOn(s *chainState, i int) int8 {
	if i+1 < m.Levels {
		return s.links[i+1].record.Held
	}
	return 0
}

func (m chain) spend(s chainState, i int, next *Steps[chainState]) {
	l := &s.links[i]
	if l.purse.Tokens > 0 && (m.maySpend(l) || m.bug == OldTokensAreSpent) {
		to := s
		to.links[i].purse.Tokens--
		to.spent++
		next.Step(to, "%s grants a token from its purse", chainNames[i+1])
	}
}

func (m chain) prepare(s chainState, i int, next *Steps[chainState]) {
	l := &s.links[i]
	name, lender := chainNames[i+1], chainNames[i]
	if l.killed {
		return
	}
	if l.purse.Prepared {
		if to := s; to.links[i].send(m.Kept, l.purse.Ask(m.Time > 0)) {
			next.Step(to, "%s sends operation %d to %s again", name, l.purse.Number, lender)
		}
		return
	}
	if !m.mayBegin(l) {
		return
	}
	for _, returning := range [...]bool{false, true} {
		if returning && l.purse.Previous == 0 {
			continue
		}
		to := s
		p := &to.links[i]
		p.purse.Prepare(p.next, returning, m.lentOn(&s, i), m.bug)
		p.next++
		p.opAge = 0
		p.send(m.Kept, p.purse.Ask(m.Time > 0))
		if m.Kept == 0 {
			m.exchange(to, i, next)
		} else if returning {
			next.Step(to, "%s prepares operation %d: it returns %d", name, l.next, p.purse.Back)
		} else {
			next.Step(to, "%s prepares operation %d: it has %d left and asks for more", name, l.next, p.purse.Left)
		}
	}
}

// available is the tokens that the lender of a link can lend now.
func (m chain) available(s *chainState, i int) int8 {
	if i == 0 {
		return m.Capacity - s.charged - s.links[0].record.Held
	}
	if m.isShort(s, i) {
		return 0
	}
	return s.links[i-1].purse.Tokens
}

// isShort reports whether the lender of a link has no time left in which a holder could spend tokens.
func (m chain) isShort(s *chainState, i int) bool {
	return i > 0 && m.Time > 0 && m.lasts(&s.links[i-1]) < 2 && m.bug != LentOnOutlivesLoan
}

// carry carries out an operation at the lender of a link.
func (m chain) carry(s *chainState, i int, a Ask[int8], most int8) (answer timedAnswer, carried bool) {
	l := &s.links[i]
	p := &l.purse
	isExpected := p.Prepared && p.Number == a.Number
	before := *l
	if a.Verb == Lend && m.isShort(s, i) {
		answer.Answer = Answer[int8]{To: a.Number, Named: l.record.Number, Held: l.record.Held}
		return answer, false
	}
	answer.Answer, _, carried = l.record.Carry(a, most, m.bug)
	spent := before.record.Held - l.record.Held
	if a.Verb == Lend && carried {
		s.isUnknown = s.isUnknown || !isExpected && a.Previous == 0
		s.isLost = s.isLost || !isExpected && answer.Lent > 0 && p.Previous != 0 && p.Previous == a.Previous && m.Time == 0 && !s.isUnknown
		spent += answer.Lent
		if l.until = m.Time; i > 0 && m.Time > 0 && m.bug != LentOnOutlivesLoan {
			l.until = min(m.Time, m.lasts(&s.links[i-1]))
		}
	} else if carried {
		spent -= answer.Lent
	}
	if answer.time = l.until; l.record.Held == 0 {
		l.until, answer.time = 0, 0
	}
	m.settle(s, i, spent, answer, a.Verb, carried)
	return answer, carried
}

// settle moves tokens at the lender: what was spent is charged, what was lent leaves, what was returned comes back.
func (m chain) settle(s *chainState, i int, spent int8, answer timedAnswer, verb Verb, carried bool) {
	if i == 0 {
		s.charged += spent
		return
	}
	switch purse := &s.links[i-1].purse; {
	case !carried:
	case verb == Lend:
		purse.Tokens -= answer.Lent
	case verb == Return:
		purse.Tokens += answer.Lent
	}
}

// kill ends the last holder with its tokens. An operator then has them counted as spent, if the loan has no end.
func (m chain) kill(s chainState, i int, next *Steps[chainState]) {
	l := &s.links[i]
	if i+1 < m.Levels || l.record.Held == 0 {
		return
	}
	to := s
	if l.killed {
		if m.Time == 0 {
			m.end(&to, i)
			next.Step(to, "an operator voids the loan of %s", chainNames[i+1])
		}
		return
	}
	to.links[i].killed, to.links[i].purse = true, Purse[int8]{}
	next.Fault(to, "%s is killed with %d", chainNames[i+1], l.purse.Tokens)
}

// mayBegin reports whether the holder of a link may prepare an operation.
func (m chain) mayBegin(l *link) bool { return m.Numbers == 0 || l.next <= m.Numbers }
