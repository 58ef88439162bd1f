package testmodel

import "slices"

// mostGrants is the most that one SL.LOG lists; usualGrants is the most without COUNT.
const mostGrants, usualGrants = 10_000, 100

// entry is tokens granted at a time.
type entry struct{ at, tokens int64 }

// log is the state of a sliding window log, oldest first.
type log struct {
	limit   limit
	entries []entry
	room    int
}

// within is the entries inside a window that ends at a time, and their tokens.
func (g *log) within(now, length int64) (inside []entry, tokens int64) {
	for i := len(g.entries) - 1; i >= 0 && g.entries[i].at > now-length; i-- {
		inside, tokens = g.entries[i:], tokens+g.entries[i].tokens
	}
	return inside, tokens
}

func (g *log) reset(now, length int64) int64 {
	if len(g.entries) == 0 {
		return 0
	}
	return max(0, g.entries[len(g.entries)-1].at+length-now)
}

func (g *log) live(now int64) bool { return g.reset(now, g.limit.length) > 0 }

func (g *log) look(now int64) (l limit, remaining, reset int64) {
	_, used := g.within(now, g.limit.length)
	return g.limit, g.limit.most - used, g.reset(now, g.limit.length)
}

// refund takes from the newest.
func (g *log) refund(now, tokens int64) state {
	_, used := g.within(now, g.limit.length)
	left := min(tokens, used)
	next := &log{g.limit, slices.Clone(g.entries), g.room}
	for left > 0 {
		last := len(next.entries) - 1
		if next.entries[last].tokens > left {
			next.entries[last].tokens -= left
			break
		}
		left -= next.entries[last].tokens
		next.entries = next.entries[:last]
	}
	return next
}

func (g *log) boundaries() (times []int64) {
	if n := len(g.entries); n > 0 {
		times = []int64{g.entries[0].at + g.limit.length, g.entries[n-1].at + g.limit.length, g.entries[n/2].at + g.limit.length}
	}
	return times
}

func decideLog(held state, r *request, now int64, a answer) (answer, state, error) {
	g := &log{}
	if was, ok := held.(*log); ok {
		*g = *was
	}
	length := r.limit.length
	inside, used := g.within(now, length)
	if _, err := a.count(r, used); err != nil {
		return a, nil, err
	}
	if !a.granted {
		a.reset = g.reset(now, length)
		switch {
		case r.hopeless():
			a.wait = never
		default:
			for _, e := range inside {
				if used -= e.tokens; used+r.least() <= r.open() {
					a.wait = e.at + length - now
					break
				}
			}
		}
		return a, nil, nil
	}
	a.reset = length
	return a, &log{limit: r.limit, entries: g.add(inside, entry{now, a.tokens}, r.limit.most), room: g.room}, nil
}

// add puts an entry after the ones that are kept: with the newest at the same time, or when there is no room.
func (g *log) add(kept []entry, e entry, most int64) []entry {
	kept = slices.Clone(kept)
	n := len(kept)
	// The room doubles as it grows, up to the limit, and is at least 4.
	if g.room = max(g.room, 4); n >= g.room {
		g.room = max(g.room, int(min(2*int64(g.room), most)))
	}
	switch {
	case n > 0 && kept[n-1].at == e.at:
		kept[n-1].tokens += e.tokens
	case n >= g.room:
		kept[n-1] = entry{e.at, kept[n-1].tokens + e.tokens}
	default:
		kept = append(kept, e)
	}
	return kept
}

// grants lists the newest entries that count.
func (m *Model) grants(words []string) (string, error) {
	r := request{tokens: usualGrants}
	if err := r.readOptions("SL.LOG", words[2:], []string{"COUNT"}); err != nil {
		return "", err
	}
	if err := checkKey(words[1]); err != nil {
		return "", err
	}
	s, err := m.heldFor(words[1], slidingLog)
	if s == nil || err != nil {
		return array(), err
	}
	g := s.(*log)
	inside, _ := g.within(m.Now, g.limit.length)
	var all []string
	for _, e := range inside[max(0, len(inside)-int(r.tokens)):] {
		all = append(all, integers(e.at/millisecond, e.tokens))
	}
	return array(all...), nil
}
