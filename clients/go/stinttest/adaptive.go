package stinttest

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"time"

	stint "github.com/stintdb/stint/clients/go"
)

// Parts of a rate, and times, of adaptive limits.
const (
	steps      = 1000    // a rate changes by a thousandth of a token to the period
	wholeRate  = 100_000 // thousandths of a percent
	remembered = int64(10 * time.Minute)
	staleAfter = 10 // times Every: reports from before count no more
	echoPart   = 10 // of Every: bad calls do not count again after the rate has fallen
)

// adaptive is the state of an adaptive limit. full is the time at which all tokens are back, at the present rate.
type adaptive struct {
	limit               limit
	full                *big.Rat
	rate                int64 // in steps
	since, used         int64
	good, bad, fell     bool
	pausedUntil, usedAt int64
}

func (s adaptive) isRemembered(now int64) bool {
	return now-s.usedAt < remembered || s.pausedUntil > now
}

// bucket is the limit at the present rate.
func (s adaptive) bucket() limit {
	return limit{spec: "TB", tokens: s.limit.tokens, count: s.rate, period: s.limit.period * steps}
}

// under is the state under another limit, or of a new key: taken tokens and the rate carry over.
func (l limit) under(state any, now int64) adaptive {
	s, ok := state.(adaptive)
	if !ok {
		return adaptive{limit: l, full: whole(now), rate: l.count * steps, since: now}
	}
	if s.limit == l {
		return s
	}
	before := s.bucket()
	s.rate = floor(times(big.NewRat(l.period, s.limit.period), s.rate))
	s.limit = l
	s.clamp()
	s.carry(before, now)
	return s
}

func (s *adaptive) clamp() { s.rate = min(max(s.rate, s.limit.least*steps, 1), s.limit.count*steps) }

// carry keeps the tokens taken under another rate.
func (s *adaptive) carry(before limit, now int64) {
	if taken := minus(s.full, whole(now)); taken.Sign() > 0 {
		tokens := quotient(taken, before.interval())
		s.full = plus(whole(now), new(big.Rat).Mul(tokens, s.bucket().interval()))
	}
}

func (l limit) decideAdaptive(state any, now int64, a ask) decision {
	s := l.under(state, now)
	d := s.bucket().decideBucket(s.full, now, a)
	if left := s.pausedUntil - now; left > 0 {
		wait := d.wait
		if d.granted > 0 {
			d, wait = s.bucket().decideBucket(s.full, now, ask{n: l.tokens + 1}), new(big.Rat)
		}
		if wait != never && wait.Cmp(whole(left)) < 0 {
			wait = whole(left)
		}
		d.wait, d.state = wait, state
		return d
	}
	if d.granted > 0 {
		s.full, _ = d.state.(*big.Rat)
		s.used, s.usedAt = s.used+d.granted, now
		d.state = s
	} else {
		d.state = state
	}
	return d
}

// options are those of a report. Down and up are in thousandths of a percent.
type options struct{ every, pause, down, up int64 }

func (f *Fake) report(words []string) (string, error) {
	good, err := numberUpTo(stint.MaxReported, words[1])
	if err != nil {
		return "", err
	}
	bad, err := numberUpTo(stint.MaxReported, words[2])
	if err != nil {
		return "", err
	}
	o := options{every: int64(time.Second), down: 80_000, up: 5_000}
	for rest := words[3:]; len(rest) > 1; rest = rest[2:] {
		switch rest[0] {
		case "EVERY":
			o.every, err = duration(rest[1])
		case "PAUSE":
			o.pause, err = duration(rest[1])
		case "DOWN":
			o.down, err = percent(rest[1])
		case "UP":
			o.up, err = percent(rest[1])
		}
		if err != nil {
			return "", err
		}
	}
	held := f.held(words[0])
	if held.state == nil {
		return "$-1", nil
	}
	s, ok := held.state.(adaptive)
	if !ok {
		return "", fmt.Errorf("WRONGTYPE the key belongs to a limiter of %s, this command needs one of AD", held.limit.spec)
	}
	now := f.now.UnixNano()
	if good > 0 || bad > 0 || o.pause > 0 {
		before := s.bucket()
		s.hear(good > 0, bad > 0, o, now)
		s.carry(before, now)
		f.keys[words[0]] = entry{held.limit, s}
	}
	text := perSecond(s.bucket())
	return fmt.Sprintf("*2\r\n$%d\r\n%s\r\n:%d", len(text), text, milliseconds(whole(max(0, s.pausedUntil-now)))), nil
}

// hear takes a report, and decides once in its Every.
func (s *adaptive) hear(good, bad bool, o options, now int64) {
	elapsed := now - s.since
	if elapsed/staleAfter >= o.every {
		s.good, s.bad = false, false
	}
	isEcho := s.fell && elapsed < o.every/echoPart
	s.good, s.bad = s.good || good, s.bad || bad && !isEcho
	s.pausedUntil, s.usedAt = max(s.pausedUntil, now+o.pause), now
	if elapsed < o.every || !s.good && !s.bad {
		return
	}
	whenFull := quotient(whole(elapsed), s.bucket().interval()) // tokens at the present rate since the last decision
	switch {
	case s.bad:
		s.rate = share(s.rate, o.down)
	case whenFull.Cmp(whole(2*s.used)) <= 0: // at least half of the rate was used
		s.rate += max(1, share(s.limit.count*steps, o.up))
	}
	s.clamp()
	s.since, s.used, s.fell, s.good, s.bad = now, 0, s.bad, false, false
}

func share(n, thousandths int64) int64 { return floor(times(big.NewRat(thousandths, wholeRate), n)) }

func percent(word string) (int64, error) {
	p, err := strconv.ParseFloat(strings.TrimSuffix(word, "%"), 64)
	if err != nil || !strings.HasSuffix(word, "%") {
		return 0, fmt.Errorf("ERR must be a percentage, got '%s'", word)
	}
	return int64(p*1000 + 0.5), nil
}

// perSecond is the rate in tokens a second, rounded down to nine decimals, without zeros at the end.
func perSecond(l limit) string {
	billionths := floor(quotient(times(whole(int64(time.Second)), 1_000_000_000), l.interval()))
	text := fmt.Sprintf("%d.%09d", billionths/1_000_000_000, billionths%1_000_000_000)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}
