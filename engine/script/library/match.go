package library

import (
	"strings"

	"github.com/stintdb/stint/engine/script/ctext"
	"github.com/stintdb/stint/engine/script/interpreter"
	"github.com/stintdb/stint/engine/script/value"
)

// capturePrice is the price in steps of a part of a text that a pattern matched.
const capturePrice = 4

// matcher matches the patterns of Lua 5.1 by backtracking. Every look at a byte counts, so that no pattern takes longer
// than the budget allows.
type matcher struct {
	L             *interpreter.Thread
	text, pattern string
	captures      []capture
	depth         int
	work          int
}

// capture is a part of the text.
type capture struct{ start, length int }

const (
	openCapture     = -1
	positionCapture = -2
	maxCaptures     = 32
	maxMatchDepth   = 400
	workPerStep     = 3
)

// matchAt matches the pattern at a place of the text, and returns the end of the match.
func (m *matcher) matchAt(at int) (end int, ok bool) {
	m.captures, m.depth = m.captures[:0], 0
	return m.match(at, 0)
}

func (m *matcher) count() {
	if m.work++; m.work >= 8*workPerStep {
		m.L.Charge(m.work / workPerStep)
		m.work = 0
	}
}

// check raises an error unless a condition holds.
func (m *matcher) check(ok bool, problem string) {
	if !ok {
		m.L.Fail("%s", problem)
	}
}

// match matches the pattern from p on with the text from s on, and returns the end of the match.
func (m *matcher) match(s, p int) (end int, ok bool) {
	m.depth++
	m.check(m.depth <= maxMatchDepth, "pattern too complex")
	defer func() { m.depth-- }()
	for {
		m.count()
		if p == len(m.pattern) {
			return s, true
		}
		next, ok := byte(0), true
		if p+1 < len(m.pattern) {
			next = m.pattern[p+1]
		}
		switch c := m.pattern[p]; {
		case c == '(' && next == ')':
			return m.open(s, p+2, positionCapture)
		case c == '(':
			return m.open(s, p+1, openCapture)
		case c == ')':
			return m.close(s, p+1)
		case c == '$' && p+1 == len(m.pattern):
			return s, s == len(m.text)
		case c == '%' && next == 'b':
			s, ok = m.balanced(s, p+2)
			p += 4
		case c == '%' && next == 'f':
			p, ok = m.frontier(s, p+2)
		case c == '%' && ctext.IsDigit(next):
			s, ok = m.back(s, int(next))
			p += 2
		default:
			end := m.classEnd(p)
			sign := m.sign(end)
			if sign == 0 {
				ok = m.one(s, p, end)
				s, p = s+1, end
				break
			}
			if to, matched := m.repeated(s, p, end, sign); matched || sign != '?' {
				return to, matched
			}
			p = end + 1 // the text goes on without the class
		}
		if !ok {
			return 0, false
		}
	}
}

// sign is the sign of repetition at p, 0 if there is none.
func (m *matcher) sign(p int) byte {
	if p < len(m.pattern) {
		switch c := m.pattern[p]; c {
		case '?', '*', '+', '-':
			return c
		}
	}
	return 0
}

// repeated matches the class from p to end as often as the sign behind it says, and then the rest of the pattern. With '?'
// it matches the class once.
func (m *matcher) repeated(s, p, end int, sign byte) (int, bool) {
	switch sign {
	case '*':
		return m.most(s, p, end)
	case '-':
		return m.least(s, p, end)
	}
	switch {
	case !m.one(s, p, end):
		return 0, false
	case sign == '+':
		return m.most(s+1, p, end)
	}
	return m.match(s+1, end+1)
}

// frontier matches the place where the set at p of the pattern begins to match, and returns the end of the set.
func (m *matcher) frontier(s, p int) (end int, ok bool) {
	m.check(p < len(m.pattern) && m.pattern[p] == '[', "missing '[' after '%f' in pattern")
	end = m.classEnd(p)
	before, after := byte(0), byte(0)
	if s > 0 {
		before = m.text[s-1]
	}
	if s < len(m.text) {
		after = m.text[s]
	}
	return end, !m.inSet(before, p, end-1) && m.inSet(after, p, end-1)
}

func (m *matcher) most(s, p, end int) (int, bool) {
	n := 0
	for m.one(s+n, p, end) {
		n++
	}
	for ; n >= 0; n-- {
		if to, ok := m.match(s+n, end+1); ok {
			return to, true
		}
	}
	return 0, false
}

func (m *matcher) least(s, p, end int) (int, bool) {
	for {
		if to, ok := m.match(s, end+1); ok {
			return to, true
		}
		if !m.one(s, p, end) {
			return 0, false
		}
		s++
	}
}

func (m *matcher) open(s, p, what int) (int, bool) {
	n := len(m.captures)
	m.check(n < maxCaptures, "too many captures")
	m.captures = append(m.captures, capture{s, what})
	to, ok := m.match(s, p)
	if !ok {
		m.captures = m.captures[:n]
	}
	return to, ok
}

func (m *matcher) close(s, p int) (int, bool) {
	n := len(m.captures) - 1
	for n >= 0 && m.captures[n].length != openCapture {
		n--
	}
	m.check(n >= 0, "invalid pattern capture")
	m.captures[n].length = s - m.captures[n].start
	to, ok := m.match(s, p)
	if !ok {
		m.captures[n].length = openCapture
	}
	return to, ok
}

func (m *matcher) balanced(s, p int) (int, bool) {
	m.check(p+1 < len(m.pattern), "unbalanced pattern")
	if s >= len(m.text) || m.text[s] != m.pattern[p] {
		return 0, false
	}
	depth := 1
	for s++; s < len(m.text); s++ {
		m.count()
		switch m.text[s] {
		case m.pattern[p+1]:
			if depth--; depth == 0 {
				return s + 1, true
			}
		case m.pattern[p]:
			depth++
		}
	}
	return 0, false
}

// back matches the text of an earlier capture.
func (m *matcher) back(s, digit int) (int, bool) {
	n := digit - '1'
	m.check(n >= 0 && n < len(m.captures) && m.captures[n].length != openCapture, "invalid capture index")
	c := m.captures[n]
	if c.length < 0 {
		return 0, false
	}
	m.L.ChargeBytes(c.length)
	text := m.text[c.start : c.start+c.length]
	return s + len(text), strings.HasPrefix(m.text[s:], text)
}

// capture returns a part of the match; the first is the whole match when the pattern has no captures.
func (m *matcher) capture(n, start, end int) value.Value {
	if n >= len(m.captures) {
		m.check(n == 0, "invalid capture index")
		return value.String(m.text[start:end])
	}
	c := m.captures[n]
	m.check(c.length != openCapture, "unfinished capture")
	if c.length == positionCapture {
		return value.Int(c.start + 1)
	}
	return value.String(m.text[c.start : c.start+c.length])
}

// pushCaptures pushes all captures, or the whole match if there are none and start is not -1.
func (m *matcher) pushCaptures(start, end int) int {
	n := len(m.captures)
	if n == 0 && start >= 0 {
		n = 1
	}
	m.L.Charge(n * capturePrice)
	for i := range n {
		m.L.Push(m.capture(i, start, end))
	}
	return n
}
