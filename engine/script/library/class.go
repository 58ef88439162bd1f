package library

import "github.com/stintdb/stint/engine/script/ctext"

// classEnd returns the end of the class that begins at p.
func (m *matcher) classEnd(p int) int {
	c := m.pattern[p]
	p++
	switch c {
	case '%':
		m.check(p < len(m.pattern), "malformed pattern (ends with '%')")
		return p + 1
	case '[':
		if p < len(m.pattern) && m.pattern[p] == '^' {
			p++
		}
		for first := true; ; first = false {
			m.check(p < len(m.pattern), "malformed pattern (missing ']')")
			if m.pattern[p] == ']' && !first {
				return p + 1
			}
			m.work++
			if m.pattern[p] == '%' && p+1 < len(m.pattern) {
				p++
			}
			p++
		}
	}
	return p
}

// one reports whether the byte at s is of the class from p to end.
func (m *matcher) one(s, p, end int) bool {
	m.count()
	if s >= len(m.text) {
		return false
	}
	switch c := m.text[s]; m.pattern[p] {
	case '.':
		return true
	case '%':
		return ofClass(c, m.pattern[p+1])
	case '[':
		return m.inSet(c, p, end-1)
	default:
		return m.pattern[p] == c
	}
}

// inSet reports whether c is in the set whose brackets are at p and end.
func (m *matcher) inSet(c byte, p, end int) bool {
	m.work += (end - p) / 4
	in := true
	if m.pattern[p+1] == '^' {
		in = false
		p++
	}
	for p++; p < end; p++ {
		switch {
		case m.pattern[p] == '%':
			p++
			if ofClass(c, m.pattern[p]) {
				return in
			}
		case p+2 < end && m.pattern[p+1] == '-':
			if m.pattern[p] <= c && c <= m.pattern[p+2] {
				return in
			}
			p += 2
		case m.pattern[p] == c:
			return in
		}
	}
	return !in
}

// ofClass reports whether c is of the class of a letter; another byte stands for itself.
func ofClass(c, class byte) bool {
	var is bool
	switch class | 0x20 {
	case 'a':
		is = ctext.IsAlpha(c)
	case 'c':
		is = c < ' ' || c == 0x7f
	case 'd':
		is = ctext.IsDigit(c)
	case 'l':
		is = c >= 'a' && c <= 'z'
	case 'p':
		is = c > ' ' && c < 0x7f && !ctext.IsAlpha(c) && !ctext.IsDigit(c)
	case 's':
		is = ctext.IsSpace(c)
	case 'u':
		is = c >= 'A' && c <= 'Z'
	case 'w':
		is = ctext.IsAlpha(c) || ctext.IsDigit(c)
	case 'x':
		is = ctext.IsHex(c)
	case 'z':
		is = c == 0
	default:
		return class == c
	}
	if !ctext.IsAlpha(class) {
		return class == c
	}
	return is == (class >= 'a')
}
