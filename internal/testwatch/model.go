package testwatch

import (
	"slices"
	"strconv"
	"strings"

	"github.com/anishathalye/porcupine"
)

// Keys is the number of keys of a history, and maxClients the number of its clients.
const (
	Keys       = 3
	maxClients = 24
)

// expiries are the times, in milliseconds, at which keys may expire: long after any test.
var expiries = [...]string{"", "4102444800000", "4102444801000"}

// key is the state of a key; the zero value is a key that does not exist.
type key struct {
	exists bool
	value  int16
	expiry int8 // in expiries
}

// state is the server's state: the keys, and how each client saw the keys that it watches.
type state struct {
	keys    [Keys]key
	watched [maxClients][Keys]struct {
		is   bool
		seen key
	}
}

// command is one command on one key, or a WATCH of several.
type command struct {
	name   string
	key    int
	value  int16
	expiry int8
}

// words are the words of the command on the key with a name.
func (c *command) words(name string) []string {
	switch c.name {
	case "SET":
		return []string{"SET", name, strconv.Itoa(int(c.value))}
	case "PEXPIREAT":
		return []string{"PEXPIREAT", name, expiries[c.expiry]}
	}
	return []string{c.name, name}
}

// carryOut changes the keys and returns the reply.
func (s *state) carryOut(c *command) string {
	k := &s.keys[c.key]
	switch c.name {
	case "SET":
		*k = key{exists: true, value: c.value}
		return "+OK"
	case "INCR":
		k.exists, k.value = true, k.value+1
		return strconv.Itoa(int(k.value))
	case "GET":
		if !k.exists {
			return "nil"
		}
		return strconv.Quote(strconv.Itoa(int(k.value)))
	}
	had := *k
	switch c.name {
	case "DEL":
		*k = key{}
	case "PEXPIREAT":
		if k.exists {
			k.expiry = c.expiry
		}
	case "PERSIST":
		k.expiry = 0
		had.exists = had.expiry != 0
	}
	if had.exists {
		return "1"
	}
	return "0"
}

// request is a client's request: a WATCH of keys, a transaction, or one command alone.
type request struct {
	client   int
	watch    []int
	isExec   bool
	commands []command
}

// answer is the reply, "nil[]" for a transaction that was not carried out.
type answer struct {
	unknown bool // it may have been carried out, or not, at any time after it was sent
	reply   string
}

// step returns the states that are possible after a request with an answer.
func (s state) step(in request, out answer) []state {
	before := s
	seen := &s.watched[in.client]
	if in.watch != nil {
		for _, k := range in.watch {
			seen[k].is, seen[k].seen = true, s.keys[k]
		}
		return []state{s}
	}
	if in.isExec {
		changed := false
		for k := range seen {
			changed = changed || seen[k].is && seen[k].seen != s.keys[k]
			seen[k].is, seen[k].seen = false, key{}
		}
		before.watched[in.client] = *seen
		switch {
		case changed && out.unknown, changed && out.reply == "nil[]":
			return []state{s}
		case changed:
			return nil
		}
	}
	var replies []string
	for i := range in.commands {
		replies = append(replies, s.carryOut(&in.commands[i]))
	}
	reply := strings.Join(replies, " ")
	if in.isExec {
		reply = "[" + reply + "]"
	}
	switch {
	case out.unknown:
		return []state{before, s}
	case out.reply == reply:
		return []state{s}
	}
	return nil
}

// maxSteps bounds the search for an order: requests that all overlap have more orders than can be tried. Usual
// histories take some thousand steps.
const maxSteps = 20_000

// isLinearizable reports whether some order explains a history, and whether that was found out within maxSteps.
func isLinearizable(history []porcupine.Operation) (is, known bool) {
	steps := 0
	model := porcupine.NondeterministicModel{
		Init: func() []any { return []any{state{}} },
		Step: func(from, in, out any) (next []any) {
			if steps++; steps > maxSteps {
				return nil
			}
			for _, s := range from.(state).step(in.(request), out.(answer)) {
				next = append(next, s)
			}
			return next
		},
	}
	is = porcupine.CheckOperations(model.ToModel(), slices.Clone(history))
	return is, is || steps <= maxSteps
}
