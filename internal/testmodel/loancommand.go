package testmodel

import "slices"

func (m *Model) lend(words []string) (string, error) {
	c := loanCall{request: request{key: words[1]}}
	if err := checkKey(c.key); err != nil {
		return "", err
	}
	f := specForm(words[2])
	if f == nil || !slices.Contains([]string{"CL", "TB", "LB", "FW"}, f.word) {
		return "", refuse("ERR spec: tokens of '%s' cannot be lent: expected one of CL TB LB FW", words[2][:min(64, len(words[2]))])
	}
	if words = words[3:]; len(words) < f.words+4 {
		return "", refuse("ERR wrong number of arguments for 'rl.lend' command; usage: RL.LEND key spec tokens holder number previous [ALL] [LEFT tokens] [FOR duration] [TZ zone] [FROM beginning] [HISTORY windows] [WARN percentage]")
	}
	var err error
	if c.limit, err = f.limit(words[:f.words]); err != nil {
		return "", err
	}
	words = words[f.words:]
	if c.tokens, err = between("tokens", words[0], 0, mostTokens); err != nil {
		return "", err
	}
	if err = c.readLoan(words[1:]); err != nil {
		return "", err
	}
	if err = c.readOptions("RL.LEND", words[4:], []string{"ALL", "LEFT", "FOR", "TZ", "FROM", "HISTORY", "WARN"}); err != nil {
		return "", err
	}
	held, err := m.heldFor(c.key, f.algorithm)
	if err != nil {
		return "", err
	}
	s, now := lentOf(held, c.limit), c.loanOf(held)
	switch {
	case now.number == c.number && c.left <= now.tokens: // the same again
		return s.reply(m.Now, now.tokens-c.left, now), nil
	case now.number != c.previous:
		return s.reply(m.Now, 0, now), nil
	case c.left > now.tokens:
		return "", notHeld(now)
	}
	next := s.set(m.Now, loan{now.holder, c.left, now.number, now.end}, now.tokens-c.left)
	granted := int64(0)
	if s.limit == c.limit {
		part := int64(8)
		if c.whole {
			part = 1
		}
		granted = min(c.tokens, next.free(m.Now)/part)
	}
	if c.left == now.tokens && granted == 0 && (c.length == 0 || c.left == 0) {
		return s.reply(m.Now, 0, now), nil
	}
	after := loan{c.holder, c.left + granted, c.number, 0}
	if c.length != 0 {
		after.end = m.Now + c.length
	}
	next = s.set(m.Now, after, now.tokens-c.left)
	m.keepLent(c.key, next)
	return next.reply(m.Now, granted, after), nil
}

func notHeld(l loan) error {
	return refuse("ERR the holder states more tokens than the %d that are set aside for it", l.tokens)
}

// lentOf is a limiter as one with loans, under a limit if it is new.
func lentOf(held state, l limit) *lent {
	switch s := held.(type) {
	case *lent:
		return s
	case *fixed:
		l = s.limit
	case *meter:
		l = s.limit
	}
	return &lent{limit: l, inner: held}
}

// loanOf is the loan of the call's holder, without tokens if there is none.
func (c *loanCall) loanOf(held state) loan {
	if s, ok := held.(*lent); ok {
		for _, l := range s.all {
			if l.holder == c.holder {
				return l
			}
		}
	}
	return loan{holder: c.holder}
}

// set is the state with another loan of a holder, and tokens that it has spent.
func (s *lent) set(now int64, l loan, spent int64) *lent {
	next := &lent{s.limit, s.inner, slices.Clone(s.all)}
	if spent > 0 {
		next.inner = s.limit.charge(s.inner, now, spent)
	}
	i := slices.IndexFunc(next.all, func(other loan) bool { return other.holder == l.holder })
	switch {
	case l.tokens == 0 && i >= 0:
		next.all = slices.Delete(next.all, i, i+1)
	case l.tokens > 0 && i >= 0:
		next.all[i] = l
	case l.tokens > 0:
		next.all = append(next.all, l)
	}
	return next
}

// keepLent keeps a limiter's state, which may have no loans any longer.
func (m *Model) keepLent(key string, s *lent) {
	s.inner = warned(s.inner, s.limit, m.Now)
	if next := s.at(m.Now); next != nil {
		m.keep(key, next)
	} else if m.keys[key] != nil {
		m.drop(key)
	}
}

// reply is the answer to an operation on a loan, after which the holder has this one.
func (s *lent) reply(now, granted int64, l loan) string {
	if l.tokens == 0 {
		l.number = 0
	}
	return integers(granted, s.most(now), s.free(now), l.tokens, l.number)
}

// lendable is a key's state for an operation on loans, nil if it can have none.
func (m *Model) lendable(key string) (state, error) {
	s := m.held(key)
	if err := checkLimiter(s); err != nil {
		return nil, err
	}
	switch s.(type) {
	case *lent, *fixed:
		return s, nil
	case *meter:
		if algorithmOf(s) != leakyQueue {
			return s, nil
		}
	}
	return nil, nil
}

func (m *Model) giveLoanBack(words []string) (string, error) {
	c := loanCall{request: request{key: words[1]}}
	err := checkKey(c.key)
	if err == nil {
		err = c.readLoan(words[2:])
	}
	if err == nil {
		c.left, err = between("tokens", words[5], 0, mostTokens)
	}
	if err == nil {
		c.isReturn = true
		err = c.readOptions("RL.RETURN", words[6:], []string{"KEEP"})
	}
	if err != nil {
		return "", err
	}
	held, err := m.lendable(c.key)
	if held == nil || err != nil {
		return integers(0, 0, 0, 0, 0), err
	}
	s, now := lentOf(held, limit{}), c.loanOf(held)
	switch {
	case now.number != c.previous:
		return s.reply(m.Now, 0, now), nil
	case c.left+c.tokens > now.tokens:
		return "", notHeld(now)
	case c.tokens > 0:
		after := loan{c.holder, c.tokens, c.number, now.end}
		next := s.set(m.Now, after, now.tokens-c.left-c.tokens)
		m.keepLent(c.key, next)
		return next.reply(m.Now, c.left, after), nil
	}
	return m.endLoan(c.key, s, now, c.left, now.tokens-c.left), nil
}

// endLoan ends a loan of which tokens were spent.
func (m *Model) endLoan(key string, s *lent, l loan, granted, spent int64) string {
	tokens := l.tokens
	l.tokens = 0
	next := s.set(m.Now, l, spent)
	if tokens > 0 {
		m.keepLent(key, next)
	}
	return next.reply(m.Now, granted, l)
}

func (m *Model) void(words []string) (string, error) {
	c := loanCall{request: request{key: words[1], holder: words[2]}}
	if c.holder == "" || len(c.holder) > 255 {
		return "", refuse("ERR holder: must be 1 to 255 bytes, got %d", len(c.holder))
	}
	err := c.readOptions("RL.VOID", words[3:], []string{"FORCE"})
	if err == nil {
		err = checkKey(c.key)
	}
	if err != nil {
		return "", err
	}
	held, err := m.lendable(c.key)
	if held == nil || err != nil {
		return integers(0, 0, 0, 0, 0), err
	}
	s, now := lentOf(held, limit{}), c.loanOf(held)
	if now.tokens == 0 || !c.force {
		return s.reply(m.Now, 0, now), nil
	}
	return m.endLoan(c.key, s, now, now.tokens, now.tokens), nil
}

func (m *Model) lentTo(words []string) (string, error) {
	err := checkKey(words[1])
	if err != nil {
		return "", err
	}
	held, err := m.lendable(words[1])
	if err != nil {
		return "", err
	}
	var all []string
	if s, ok := held.(*lent); ok {
		for _, l := range s.all {
			ttl := int64(never)
			if l.end != 0 {
				ttl = millis(l.end - m.Now)
			}
			all = append(all, array(bulk(l.holder), integer(l.tokens), integer(ttl)))
		}
	}
	return array(all...), nil
}
