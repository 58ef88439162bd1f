package stinttest

import (
	"fmt"
	"math/big"
	"slices"
	"strings"
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
	switch name {
	case "TB.ACQUIRE", "FW.ACQUIRE", "SW.ACQUIRE", "BAL.ACQUIRE":
		return f.acquire(name, words)
	case "BAL.ADD":
		return f.addCredits(words)
	case "BAL.INFO":
		return f.credits(words[0])
	case "RL.ALL":
		return f.all(words)
	case "RL.CHECK":
		return f.check(words)
	case "RL.REFUND":
		return f.refund(words)
	case "DEL":
		had := f.held(words[0]).state != nil
		delete(f.keys, words[0])
		if had {
			return ":1", nil
		}
		return ":0", nil
	}
	return "", lacks(name)
}

// lacks is the error of what only the server does.
func lacks(what string) error {
	return fmt.Errorf("ERR the fake server has no %s: it knows token buckets, fixed windows without other options than "+
		"ROLLOVER, sliding windows in SEGMENTS, balances without EXPIRE, and policies of them; run this test on a real "+
		"server, with stinttest.Start", what)
}

// held is the limiter of a key, without a state if it has none or is at its full limit.
func (f *Fake) held(key string) entry {
	e, now := f.keys[key], f.now.UnixNano()
	if e.state != nil && e.limit.isFull(e.state, now) {
		delete(f.keys, key)
		return entry{}
	}
	return e
}

// decide decides on an ask under a key and leaves the state as it is.
func (f *Fake) decide(key string, l limit, a ask) (decision, error) {
	state, err := f.state(key, l)
	return l.decide(state, f.now.UnixNano(), a), err
}

// look is the present state of a limit under a key.
func (f *Fake) look(key string, l limit) (decision, error) {
	state, err := f.state(key, l)
	d := l.look(state, f.now.UnixNano())
	d.remaining = max(0, d.remaining)
	return d, err
}

// state is the state of a key under a limit, to which the tokens taken under another rate carry over.
func (f *Fake) state(key string, l limit) (any, error) {
	held, now := f.held(key), whole(f.now.UnixNano())
	if held.state != nil && held.limit.spec != l.spec {
		const text = "WRONGTYPE the key belongs to a limiter of %s, this command needs one of %s"
		return nil, fmt.Errorf(text, held.limit.spec, l.spec)
	}
	switch state := held.state.(type) {
	case *big.Rat:
		taken := quotient(minus(state, now), held.limit.interval())
		return plus(now, new(big.Rat).Mul(taken, l.interval())), nil
	case window:
		if l.rollover == 0 {
			state.before = closed{}
		}
		return state, nil
	}
	return held.state, nil
}

func (f *Fake) acquire(command string, words []string) (string, error) {
	l, rest, err := parse(strings.TrimSuffix(command, ".ACQUIRE"), words[1:])
	if err != nil {
		return "", err
	}
	if len(rest) == 0 {
		return "", fmt.Errorf("ERR wrong number of arguments for '%s'", command)
	}
	options, err := l.readOption(rest[1:])
	if err != nil {
		return "", err
	}
	a, err := readAsk(command, rest[0], options)
	if err != nil {
		return "", err
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
	return array(d.granted, d.limit, d.remaining, milliseconds(d.wait), milliseconds(d.reset)), nil
}

// readAsk reads the words after a limit: the number of tokens and an option.
func readAsk(command, tokens string, words []string) (a ask, err error) {
	if a.n, err = number(tokens); err != nil || len(words) == 0 {
		return a, err
	}
	a.option = words[0]
	switch {
	case slices.Contains([]string{"PEEK", "UPTO", "FORCE"}, a.option) && len(words) == 1:
		return a, nil
	case a.option == "MAXWAIT" && command == "TB.ACQUIRE" && len(words) == 2:
		a.maxWait, err = duration(words[1])
		return a, err
	}
	return a, lacks(a.option + " in " + command)
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
	d := held.limit.look(held.state, f.now.UnixNano())
	back := min(n, d.limit-d.remaining)
	switch state := held.state.(type) {
	case *big.Rat:
		held.state = minus(state, times(held.limit.interval(), back))
	case window:
		state = held.limit.windowAt(state, f.now.UnixNano())
		state.taken -= back
		held.state = state
	case segments:
		held.state = state.without(back)
	case credits:
		held.state = credits{state.added, state.spent - back}
	}
	f.keys[words[0]] = held
	return fmt.Sprintf(":%d", d.remaining+back), nil
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
