package testspec

// maySpend reports whether the holder's clock permits spending.
func (m chain) maySpend(l *link) bool { return m.Time == 0 || l.age < l.time-1 }

// lasts is how long the holder of a link may still spend its tokens.
func (m chain) lasts(l *link) int8 { return max(0, l.time-1-l.age) }

// tick moves the clock of a node: it is the holder's clock of the link above and the lender's of the link below.
func (m chain) tick(s chainState, node int, next *Steps[chainState]) {
	to := s
	if node > 0 {
		l := &to.links[node-1]
		if l.ahead++; l.ahead > 1 {
			return
		}
		l.age, l.opAge = min(l.age+1, m.Time), min(l.opAge+1, m.Time)
		if l.purse.Previous == 0 {
			l.age = 0
		}
		if !l.purse.Prepared {
			l.opAge = 0
		}
		if !m.maySpend(l) && l.purse.Tokens > 0 && m.bug != OldTokensAreSpent {
			l.purse.Tokens, l.purse.Prepared = 0, false
		}
	}
	if node < m.Levels {
		l := &to.links[node]
		if l.ahead--; l.ahead < 0 {
			return
		}
		if l.until > 0 {
			if l.until--; l.until == 0 {
				m.end(&to, node)
			}
		}
	}
	next.Step(to, "the clock of %s ticks", chainNames[node])
}

// end ends a loan at its lender: its tokens count as spent.
func (m chain) end(s *chainState, i int) {
	l := &s.links[i]
	if i == 0 && m.bug != EndedLoanIsFree {
		s.charged += l.record.Held
	}
	l.record = Record[int8]{}
}
