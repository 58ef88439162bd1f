package testmodel

import (
	"fmt"
	"slices"
)

const penalty = "penalty"

// bans is the state of a penalty: the denials that count, and the last ban.
type bans struct {
	limit          limit
	first, denials int64  // when the first of them was, and how many there are; none during a ban
	from, until    int64  // both are 0 if there was no ban
	last           string // request with an id among them, "" if it had none
}

func readPenalty(words []string) (l limit, err error) {
	if l.most, err = between("denials", words[0], 1, mostTokens); err != nil {
		return l, err
	}
	if l.length, err = duration("window", words[1]); err != nil {
		return l, err
	}
	l.ban, err = duration("ban", words[2])
	l.longestBan = l.ban
	return l, err
}

func (l *limit) readDoubling(text string) (err error) {
	if l.algorithm != penalty {
		return refuse("ERR DOUBLING: needs PENALTY, got %s", formOf(l.algorithm).word)
	}
	if l.longestBan, err = duration("DOUBLING", text); err == nil && l.longestBan < l.ban {
		err = argument("DOUBLING", fmt.Sprintf("must be no shorter than the ban, %s", durationText(l.ban)), text)
	}
	return err
}

// under is the state under a limit, perhaps another than before: no ban is longer than the limit's longest.
func (s *bans) under(l limit, now int64) *bans {
	next := *s
	next.limit, next.until = l, min(s.until, s.from+l.longestBan)
	if now >= s.first+l.length {
		next.first, next.denials, next.last = 0, 0, ""
	}
	return &next
}

// soon is the time until which another ban is twice as long as the last one, 0 if there is none to double.
func (s *bans) soon() int64 {
	if s.until == 0 || s.limit.longestBan == s.limit.ban {
		return s.until
	}
	return s.until + max(s.until-s.from, s.limit.length)
}

func (s *bans) live(now int64) bool {
	return now < s.soon() || s.denials > 0 && now < s.first+s.limit.length
}

func (s *bans) look(now int64) (l limit, remaining, reset int64) {
	switch s = s.under(s.limit, now); {
	case now < s.until:
		return s.limit, 0, s.until - now
	case s.denials > 0:
		return s.limit, s.limit.most, s.first + s.limit.length - now
	}
	return s.limit, s.limit.most, 0
}

func (s *bans) refund(int64, int64) state { return s }

func (s *bans) boundaries() []int64 { return []int64{s.first + s.limit.length, s.until, s.soon()} }

// details are what RL.INFO shows beside the limit.
func (s *bans) details(now int64) []string {
	fields := []string{bulk("counted"), bulk(fmt.Sprint(s.under(s.limit, now).denials))}
	if s.until > s.from {
		fields = append(fields, bulk("last_ban"), bulk(durationText(s.until-s.from)))
	}
	return fields
}

func bansUnder(held state, l limit, now int64) *bans {
	if s, ok := held.(*bans); ok {
		return s.under(l, now)
	}
	return &bans{limit: l}
}

// decidePenalty denies during a ban. A grant counts nothing.
func decidePenalty(held state, r *request, now int64, a answer) (answer, state, error) {
	s := bansUnder(held, r.limit, now)
	_, a.remaining, a.reset = s.look(now)
	if a.granted = now >= s.until; !a.granted {
		a.wait = s.until - now
	}
	return a, nil, nil
}

// count is the state after a denial by other limits that counts. A request with an id that is sent again does not.
func (s *bans) count(now int64, call *request) *bans {
	next := *s
	next.last = ""
	if call.id != nil {
		next.last = *call.id + " " + call.asked
	}
	if call.id != nil && next.last == s.last {
		return s
	}
	if next.denials++; next.denials == 1 {
		next.first = now
	}
	if next.denials < s.limit.most {
		return &next
	}
	length := s.limit.ban
	if now < s.soon() {
		length = max(length, min(2*(s.until-s.from), s.limit.longestBan))
	}
	return &bans{limit: s.limit, from: now, until: now + length}
}

// punish counts a denied request in its penalties, unless it is asked again while it waits for a place among leases. A
// ban that begins denies the request for longer, perhaps.
func (m *Model) punish(o *outcome, limits []request, held []state, call *request) {
	for i := range limits {
		if call.peek || limits[i].limit.algorithm == concurrency && limits[i].wait > 0 && o.parts[i].wait > 0 {
			return
		}
	}
	for i := range limits {
		r, a := &limits[i], &o.parts[i]
		if r.limit.algorithm != penalty || r.tokens == 0 || a.wait > 0 {
			continue
		}
		before := bansUnder(held[i], r.limit, m.Now)
		s := before.count(m.Now, call)
		if s != before {
			m.keep(r.key, s)
		}
		if _, a.remaining, a.reset = s.look(m.Now); m.Now < s.until {
			a.granted, a.wait = false, s.until-m.Now
		}
		if o.wait != never && a.wait > o.wait {
			o.binding, o.wait = i, a.wait
		}
	}
}

// penalty returns a key of a PENALTY limit. Most of these keys have counted denials.
func (c *Calls) penalty() *randomKey {
	return slices.DeleteFunc(c.different(len(c.keys)), func(k *randomKey) bool { return k.form.algorithm != penalty })[0]
}

// knock is a call with a penalty that is mostly denied, often the last one again.
func (c *Calls) knock() []string {
	for c.knocking == nil || c.chance(4) || slices.Contains(c.knocking, "BLOCK") { // which may have been in a transaction
		words := append([]string{"RL.ALL"}, c.specs(1+c.random.IntN(2), "")...)
		if hasLeases := slices.Contains(words, "CC"); slices.Contains(words, "PENALTY") && (!hasLeases || c.chance(4)) {
			c.knocking = c.as(slices.Concat(words, []string{"TOKENS", c.pick("1000000000000", c.tokens(20))}, c.callOptions(false)), nil)
			break
		}
	}
	return c.knocking
}

// randomDoubling makes later bans longer.
func randomDoubling(c *Calls, f *form) []string {
	if f.algorithm != penalty && !c.chance(100) || !c.chance(2) {
		return nil
	}
	return []string{c.pick("DOUBLING", "doubling"), c.pick("1d", "1d", "30d", c.duration(4))}
}
