package stinttest

import (
	"errors"
	"fmt"
	"math/big"
	"time"
)

// entry is the limiter of a key.
type entry struct {
	limit limit
	state any
}

// reply carries out a command. An error is its error reply.
func (f *Fake) reply(words []string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	text, err := f.execute(words[0], words[1:])
	if err != nil {
		return "-" + err.Error()
	}
	return text
}

func (f *Fake) execute(name string, words []string) (string, error) {
	if s, ok := specOf(name); ok && s.command == name {
		return f.acquire(s, words)
	}
	switch name {
	case "RL.ALL":
		return f.all(words)
	case "RL.CHECK":
		return f.check(words)
	case "AD.REPORT":
		return f.report(words)
	case "RL.USAGE":
		return f.usage(words)
	case "RL.POLICY":
		if len(words) > 2 && words[0] == "USAGE" {
			return f.policyUsage(words[1:])
		}
		return "", fmt.Errorf("ERR the fake server has no RL.POLICY but USAGE: use SetPolicy, or a real server from stinttest.Start")
	case "RL.REFUND":
		return f.refund(words)
	case "RL.SETTLE":
		return f.settle(words)
	case "RL.CANCEL":
		return f.cancel(words[0])
	case "DEL":
		had := f.held(words[0]).state != nil || f.reserved(words[0]) != nil
		delete(f.keys, words[0])
		delete(f.reservations, words[0])
		if had {
			return ":1", nil
		}
		return ":0", nil
	}
	return "", lacks(name)
}

// lacks is the error of what only the server does.
func lacks(what string) error {
	return fmt.Errorf("ERR the fake server has no %s: start a real one for this test, with stinttest.Start", what)
}

// held is the limiter of a key, without a state if it has none or is at its full limit.
func (f *Fake) held(key string) entry {
	e := f.keys[key]
	if e.state != nil && e.limit.isFull(e.state, f.now.UnixNano()) {
		delete(f.keys, key)
		return entry{}
	}
	return e
}

// decide decides on an ask under a key and leaves the state as it is.
func (f *Fake) decide(key string, l limit, a ask) (decision, error) {
	held, now := f.held(key), f.now.UnixNano()
	if held.state != nil && held.limit.spec != l.spec {
		return decision{}, fmt.Errorf("WRONGTYPE the key belongs to a limiter of %s, this command needs one of %s", held.limit.spec, l.spec)
	}
	if full, ok := held.state.(*big.Rat); ok && full.Cmp(whole(now)) > 0 { // tokens carry over to another rate
		taken := quotient(minus(full, whole(now)), held.limit.interval())
		held.state = plus(whole(now), new(big.Rat).Mul(taken, l.interval()))
	}
	return l.decide(held.state, now, a), nil
}

func (f *Fake) acquire(s spec, words []string) (string, error) {
	if len(words) < s.words+2 {
		return "", fmt.Errorf("ERR wrong number of arguments for '%s'", s.command)
	}
	l, err := s.parse(words[1:])
	if err != nil {
		return "", err
	}
	rest := words[1+s.words:]
	a := ask{}
	if a.n, err = number(rest[0]); err != nil {
		return "", err
	}
	if rest, err = l.options(rest[1:]); err != nil {
		return "", err
	}
	if len(rest) > 0 {
		a.option = rest[0]
	}
	if a.option == "MAXWAIT" {
		if a.maxWait, err = duration(rest[1]); err != nil {
			return "", err
		}
	}
	d, err := f.decide(words[0], l, a)
	if err != nil {
		return "", err
	}
	if d.granted > 0 && a.option != "PEEK" {
		f.keys[words[0]] = entry{l, d.state}
	}
	if a.option != "FORCE" { // only FORCE shows a debt
		d.remaining = max(0, d.remaining)
	}
	if s.word != "CL" {
		return array(l.withWarning(d.remaining, d.granted, l.tokens, d.remaining, milliseconds(d.wait), milliseconds(d.reset))...), nil
	}
	limited, after := int64(0), int64(-1)
	if d.granted == 0 {
		limited = 1
		if d.wait != never {
			after = ceilDiv(d.wait, int64(time.Second))
		}
	}
	return array(limited, l.tokens, d.remaining, after, ceilDiv(d.reset, int64(time.Second))), nil
}

func (f *Fake) refund(words []string) (string, error) {
	n, err := number(words[1])
	if err != nil {
		return "", err
	}
	held := f.held(words[0])
	if held.state == nil {
		return "$-1", nil
	}
	present, _ := f.decide(words[0], held.limit, ask{n: held.limit.tokens + 1})
	back := min(n, held.limit.tokens-present.remaining)
	switch state := held.state.(type) {
	case *big.Rat:
		held.state = minus(state, times(held.limit.interval(), back))
	case adaptive:
		state.full = minus(state.full, times(state.bucket().interval(), back))
		held.state = state
	case window:
		state.taken = max(0, state.taken-back)
		state.reserved = min(state.reserved, state.taken)
		held.state = state
	default:
		return "", errors.New("ERR the fake server refunds buckets, adaptive limits and fixed windows")
	}
	f.keys[words[0]] = held
	return fmt.Sprintf(":%d", present.remaining+back), nil
}

func longer(a, b *big.Rat) bool { return b != never && (a == never || a.Cmp(b) > 0) }

// milliseconds is a time in replies: rounded up, and -1 for never.
func milliseconds(d *big.Rat) int64 {
	if d == never {
		return -1
	}
	return ceilDiv(d, int64(time.Millisecond))
}

func array(numbers ...int64) string {
	text := fmt.Sprintf("*%d", len(numbers))
	for _, n := range numbers {
		text += fmt.Sprintf("\r\n:%d", n)
	}
	return text
}
