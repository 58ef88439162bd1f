package testmodel

func (m *Model) info(words []string) (string, error) {
	if err := checkKey(words[1]); err != nil {
		return "", err
	}
	s := m.held(words[1])
	if s == nil {
		return null, nil
	}
	if err := checkLimiter(s); err != nil {
		return "", err
	}
	l, remaining, reset := s.look(m.Now)
	fields := []string{bulk("algorithm"), bulk(algorithmOf(s))}
	for _, p := range l.parameters() {
		if p[0] != "limit" {
			fields = append(fields, bulk(p[0]), bulk(p[1]))
		}
	}
	if s, ok := s.(*bans); ok {
		fields = append(fields, s.details(m.Now)...)
	}
	_, lent := withoutLoans(s)
	fields = append(fields, bulk("limit"), integer(l.most), bulk("taken"), integer(l.most-remaining-lent),
		bulk("remaining"), integer(remaining), bulk("reset_ms"), integer(millis(reset)))
	if lent > 0 {
		fields = append(fields, bulk("lent"), integer(lent))
	}
	return array(fields...), nil
}

func (m *Model) refund(words []string) (string, error) {
	tokens, err := between("tokens", words[2], 1, mostTokens)
	if err == nil {
		err = checkKey(words[1])
	}
	if err != nil {
		return "", err
	}
	s := m.held(words[1])
	if err := checkLimiter(s); err != nil {
		return "", err
	}
	switch {
	case s == nil:
		return null, nil
	case algorithmOf(s) == concurrency:
		return "", refuse("ERR key: leases are ended by CC.RELEASE, not refunded")
	case algorithmOf(s) == penalty:
		return "", refuse("ERR key: a penalty has no tokens; DEL ends a ban")
	}
	l, _, _ := s.look(m.Now)
	next := s.refund(m.Now, tokens)
	remaining := l.most
	if next.live(m.Now) {
		_, remaining, _ = next.look(m.Now)
	}
	m.keep(words[1], next)
	return integer(remaining), nil
}

func (m *Model) release(words []string) (string, error) {
	if err := checkKey(words[1]); err != nil {
		return "", err
	}
	if holder := words[2]; holder == "" || len(holder) > 255 {
		return "", refuse("ERR holder: must be 1 to 255 bytes, got %d", len(holder))
	}
	s, err := m.heldFor(words[1], concurrency)
	if s == nil || err != nil {
		return integer(0), err
	}
	held := s.(*leases).at(m.Now)
	for i, l := range held.all {
		if l.holder == words[2] {
			held.all = append(held.all[:i:i], held.all[i+1:]...)
			m.keep(words[1], held)
			return integer(1), nil
		}
	}
	return integer(0), nil
}

func (m *Model) holders(words []string) (string, error) {
	if err := checkKey(words[1]); err != nil {
		return "", err
	}
	s, err := m.heldFor(words[1], concurrency)
	if s == nil || err != nil {
		return array(), err
	}
	var all []string
	for _, l := range s.(*leases).at(m.Now).all {
		all = append(all, bulk(l.holder), integer(millis(l.end-m.Now)))
	}
	return array(all...), nil
}

func checkKeys(keys []string) error {
	for _, key := range keys {
		if err := checkKey(key); err != nil {
			return err
		}
	}
	return nil
}

func (m *Model) del(words []string) (string, error) {
	if err := checkKeys(words[1:]); err != nil {
		return "", err
	}
	n := int64(0)
	for _, key := range words[1:] {
		if s := m.held(key); s != nil {
			n++
			if l, ok := s.(*lent); ok { // its holders may still spend
				m.keep(key, &lent{l.limit, nil, l.all})
				continue
			}
			m.drop(key)
		}
	}
	return integer(n), nil
}

func (m *Model) exists(words []string) (string, error) {
	if err := checkKeys(words[1:]); err != nil {
		return "", err
	}
	n := int64(0)
	for _, key := range words[1:] {
		if m.held(key) != nil {
			n++
		}
	}
	return integer(n), nil
}

// left is the number of milliseconds until a key expires.
func (m *Model) left(key string) (int64, error) {
	if err := checkKey(key); err != nil {
		return 0, err
	}
	s := m.held(key)
	if s == nil {
		return -2, nil
	}
	l, _, reset := s.look(m.Now)
	if _, lent := withoutLoans(s); (lent > 0 || l.history > 0 || l.algorithm == balance || l.algorithm == penalty) && reset == 0 {
		return -1, nil
	}
	return millis(reset), nil
}

func (m *Model) pttl(words []string) (string, error) {
	left, err := m.left(words[1])
	return integer(left), err
}

func (m *Model) ttl(words []string) (string, error) {
	left, err := m.left(words[1])
	if left >= 0 {
		left = (left + 500) / 1000
	}
	return integer(left), err
}

func (m *Model) typeOf(words []string) (string, error) {
	if err := checkKey(words[1]); err != nil {
		return "", err
	}
	if s := m.held(words[1]); s != nil {
		return status(algorithmOf(s)), nil
	}
	return status("none"), nil
}

func (m *Model) drop(key string) {
	m.since.add(key, nil)
	delete(m.keys, key)
}
