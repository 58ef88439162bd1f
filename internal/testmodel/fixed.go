package testmodel

// fixed is the state of a fixed window: the tokens counted in [start, end).
type fixed struct {
	limit      limit
	count      int64
	start, end int64
	warned     bool // in this window
	isLent     bool // tokens are set aside for holders, so none roll over
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
	l = f.limit
	if f.end > 0 {
		l.most += f.rolled(l, f.start)
	} else {
		start, _ := l.windowAt(now)
		l.most += f.rolled(l, start)
	}
	return l, l.most - f.count, reset
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
	next := &fixed{limit: l, start: start, end: end}
	if !ok {
		return next
	}
	next.isLent, next.record = f.isLent, f.record.under(l)
	if f.count == 0 && (!f.warned || l.window == "") {
		return next
	}
	if l.window == "" {
		if f.start+l.length <= now {
			next.record = next.record.close(f.start, f.start+l.length, f.count, 0, l.history)
			return next
		}
		next.start, next.end = f.start, f.start+l.length
	}
	next.count, next.warned = f.count, f.warned && next.start == f.start
	return next
}

func decideFixed(held state, r *request, now int64, a answer) (answer, state, error) {
	f := fixedUnder(held, r.limit, now)
	f.isLent = r.lent > 0
	rolled := f.rolled(r.limit, f.start)
	used, err := a.count(r, f.count-rolled)
	if err != nil {
		return a, nil, err
	}
	a.limit += rolled
	if a.reset = f.end - now; !a.granted {
		if a.wait = r.windowWait(now, f); r.hopeless() {
			a.wait = never
		}
		if r.limit.rollover > 0 && !f.isLent {
			a.wait = r.rolloverWait(now, f)
		}
		if f.count == 0 {
			a.reset = 0
		}
		return a, nil, nil
	}
	f.count = used + rolled
	return a, f, nil
}
