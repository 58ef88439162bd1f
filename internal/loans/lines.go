package loans

import "sync"

// lines begin the operations on loans. Of one place with one node or group at home, as many are under way as take turns;
// the others wait in line, because each that has begun takes a goroutine's stack.
type lines struct {
	mu    sync.Mutex
	lines map[lineID]*line // those with operations under way
}

type lineID struct {
	at   int
	home Turns
}

type line struct {
	begun   int
	waiting []operation
}

// An operation reports whether another is to follow it, which takes its turn at the end of the line.
type operation func() (more bool)

// begin calls f in a goroutine of start, now or when one before it has ended. It returns false if start does.
func (l *lines) begin(id lineID, start func(func()) bool, f operation) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	one := l.lines[id]
	if one == nil {
		if l.lines == nil {
			l.lines = map[lineID]*line{}
		}
		one = &line{}
		l.lines[id] = one
	}
	if one.begun >= cap(id.home) {
		one.waiting = append(one.waiting, f)
		return true
	}
	one.begun++
	began := start(func() {
		for f != nil {
			if !f() {
				f = nil
			}
			f = l.next(id, one, f)
		}
	})
	if !began {
		l.end(id, one)
	}
	return began
}

// next returns what waits the longest, nil for nothing. An operation that is to follow, if any, joins the line before.
func (l *lines) next(id lineID, one *line, follows operation) (f operation) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if follows != nil {
		one.waiting = append(one.waiting, follows)
	}
	if len(one.waiting) == 0 {
		l.end(id, one)
		return nil
	}
	f, one.waiting[0] = one.waiting[0], nil
	one.waiting = one.waiting[1:]
	return f
}

// end notes the end of a goroutine. l.mu is held.
func (l *lines) end(id lineID, one *line) {
	if one.begun--; one.begun == 0 {
		delete(l.lines, id)
	}
}
