// Package glob matches texts with patterns as Redis writes them. Every node of a cluster must find the same.
package glob

import (
	"math"
	"strings"
)

// Match reports whether text matches a glob pattern as Redis writes them: * any run, ? any byte, [a-c] and [^a-c] one
// of a set, \ takes the next byte literally. It takes at most len(pattern)·len(text) steps for any pattern.
func Match(pattern, text string) bool {
	matches, _ := MatchWithin(pattern, text, math.MaxInt)
	return matches
}

// Prefix is the beginning of every text that matches a pattern: the pattern up to its first special character.
func Prefix(pattern string) string {
	if at := strings.IndexAny(pattern, `*?[\`); at >= 0 {
		return pattern[:at]
	}
	return pattern
}

// MatchWithin is [Match] with a bound on the steps. It returns the number of steps taken.
func MatchWithin(pattern, text string, most int) (matches bool, steps int) {
	p, t := 0, 0
	star, retry := -1, 0
	for t < len(text) {
		if steps >= most {
			return false, steps
		}
		before := p
		if p < len(pattern) && pattern[p] == '*' {
			star, retry = p, t
			p++
			steps++
			continue
		}
		next, ok := matchOne(pattern, p, text[t])
		if steps += max(1, next-before); ok {
			p, t = next, t+1
			continue
		}
		if star < 0 {
			return false, steps
		}
		retry++
		p, t = star+1, retry
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern), steps
}

// matchOne matches one byte at pattern[p:] and returns where the pattern goes on.
func matchOne(pattern string, p int, c byte) (next int, ok bool) {
	if p >= len(pattern) {
		return p, false
	}
	switch pattern[p] {
	case '?':
		return p + 1, true
	case '[':
		return matchSet(pattern, p+1, c)
	case '\\':
		if p+1 < len(pattern) {
			p++
		}
	}
	return p + 1, pattern[p] == c
}

func matchSet(pattern string, p int, c byte) (next int, ok bool) {
	negated := p < len(pattern) && pattern[p] == '^'
	if negated {
		p++
	}
	found := false
	for p < len(pattern) && pattern[p] != ']' {
		low, high := pattern[p], pattern[p]
		switch {
		case low == '\\' && p+1 < len(pattern):
			p++
			low, high = pattern[p], pattern[p]
		case p+2 < len(pattern) && pattern[p+1] == '-':
			low, high = min(low, pattern[p+2]), max(low, pattern[p+2])
			p += 2
		}
		found = found || low <= c && c <= high
		p++
	}
	if p < len(pattern) {
		p++
	}
	return p, found != negated
}
