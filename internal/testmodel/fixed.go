package testmodel

// fixed is the state of a fixed window: the tokens counted in [start, end).
type fixed struct {
	limit      limit
	count      int64
	start, end int64
	warned     bool // in this window
	record
}

func (f *fixed) live(now int64) bool { return f.at(now) != nil }

// isOpen reports whether the window counts; one of the clock that has warned does until its end.
func (f *fixed) isOpen(now int64) bool {
	return now < f.end && (f.count > 0 || f.warned && f.limit.window != "")
}

func (f *fixed) look(now int64) (l limit, remaining, reset int64) {
	if f.count > 0 {
		reset = f.end - now
	}
	return f.limit, f.limit.most - f.count, reset
}

func (f *fixed) refund(_, tokens int64) state {
	return f.settle(f.start, tokens, 0)
}

func (f *fixed) boundaries() []int64 { return []int64{f.end, f.forgotten()} }

// windowAt is the window of the clock, or of the calendar, that holds a time; for one that begins with the first
// request, it begins now.
func (l limit) windowAt(now int64) (start, end int64) {
	length := l.length
	switch l.window {
	case "@day", "@week", "@month", "@quarter", "@year":
		return l.calendarWindow(now)
	case "@hour":
		length = hour
	case "@minute":
		length = minute
	case "":
		return now, now + length
	}
	start = now - now%length
	return start, start + length
}

// fixedUnder is the window of a limit at a time, with its earlier count.
func fixedUnder(held state, l limit, now int64) *fixed {
	start, end := l.windowAt(now)
	f, ok := held.(*fixed)
	if !ok {
		return &fixed{l, 0, start, end, false, record{}}
	}
	kept := f.record.first(l.history)
	if f.count == 0 && (!f.warned || l.window == "") {
		return &fixed{l, 0, start, end, false, kept}
	}
	if l.window == "" {
		if f.start+l.length <= now {
			return &fixed{l, 0, start, end, false, kept.close(f.start, f.start+l.length, f.count, l.history)}
		}
		start, end = f.start, f.start+l.length
	}
	return &fixed{l, f.count, start, end, f.warned && start == f.start, kept}
}

func decideFixed(held state, r *request, now int64, a answer) (answer, state, error) {
	f := fixedUnder(held, r.limit, now)
	used, err := a.count(r, f.count)
	if err != nil {
		return a, nil, err
	}
	if a.reset = f.end - now; !a.granted {
		if a.wait = r.windowWait(now, f); r.hopeless() {
			a.wait = never
		}
		if f.count == 0 {
			a.reset = 0
		}
		return a, nil, nil
	}
	f.count = used
	return a, f, nil
}
