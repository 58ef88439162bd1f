package testwatch

import (
	"testing"

	"github.com/anishathalye/porcupine"
)

// The checker finds the answers that a server without WATCH, or with half of it, would give.
func TestWrongHistoriesAreFound(t *testing.T) {
	var set, incr, look = command{name: "SET", value: 5}, command{name: "INCR"}, command{name: "GET"}
	second, expire := command{name: "SET", key: 1, value: 5}, command{name: "PEXPIREAT", expiry: 1}
	one := func(client int, c command) request { return request{client: client, commands: []command{c}} }
	watch := func(keys ...int) request { return request{watch: keys} }
	exec := request{isExec: true, commands: []command{incr}}
	ok, executed, refused := answer{reply: "+OK"}, answer{reply: "[1]"}, answer{reply: "nil[]"}
	for _, test := range []struct {
		name    string
		right   bool
		answers []any // request and answer by turns, one after the other
	}{
		{"nothing changes", true, []any{watch(0), answer{}, exec, executed}},
		{"nothing changes, and it is refused", false, []any{watch(0), answer{}, exec, refused}},
		{"a key changes", true, []any{watch(0), answer{}, one(1, set), ok, exec, refused}},
		{"a key changes, and nobody compares", false, []any{watch(0), answer{}, one(1, set), ok, exec, answer{reply: "[6]"}}},
		{"a key that is not watched changes", true, []any{watch(0), answer{}, one(1, second), ok, exec, executed}},
		{"the second key changes", true, []any{watch(0, 1), answer{}, one(1, second), ok, exec, refused}},
		{"the second key changes, and only the first is compared", false, []any{watch(0, 1), answer{}, one(1, second), ok, exec, executed}},
		{"the expiry changes", true, []any{one(0, set), ok, watch(0), answer{}, one(1, expire), answer{reply: "1"}, exec, refused}},
		{"the expiry changes, and is not compared", false, []any{one(0, set), ok, watch(0), answer{}, one(1, expire), answer{reply: "1"}, exec, answer{reply: "[6]"}}},
		{"it is as it was again", true, []any{one(0, set), ok, watch(0), answer{}, one(1, incr), answer{reply: "6"}, one(1, set), ok, exec, answer{reply: "[6]"}}},
		{"a change of unknown outcome", true, []any{watch(0), answer{}, one(1, set), answer{unknown: true}, exec, refused}},
		{"a change of unknown outcome that comes later", true, []any{watch(0), answer{}, one(1, set), answer{unknown: true}, exec, executed, one(0, look), answer{reply: `"5"`}}},
		{"a transaction of unknown outcome", true, []any{watch(0), answer{}, exec, answer{unknown: true}, one(1, look), answer{reply: `"1"`}}},
		{"one that was not carried out", true, []any{watch(0), answer{}, exec, answer{unknown: true}, one(1, look), answer{reply: "nil"}}},
		{"one that was carried out twice", false, []any{watch(0), answer{}, exec, answer{unknown: true}, one(1, look), answer{reply: `"2"`}}},
		{"one that was carried out behind a change", false, []any{watch(0), answer{}, one(1, set), ok, exec, answer{unknown: true}, one(1, look), answer{reply: `"6"`}}},
	} {
		var history []porcupine.Operation
		for i := 0; i < len(test.answers); i += 2 {
			op := porcupine.Operation{Input: test.answers[i], Output: test.answers[i+1], Call: int64(i), Return: int64(i + 1)}
			if op.Output.(answer).unknown {
				op.Return = 1 << 60
			}
			history = append(history, op)
		}
		if got, known := isLinearizable(history); got != test.right || !known {
			t.Errorf("%s: linearizable is %v, known %v", test.name, got, known)
		}
	}
}

// A history of which every order would have to be tried is given up, and neither right nor wrong.
func TestSearchIsBounded(t *testing.T) {
	h, sum := &History{}, Counts{}
	for client := range maxClients {
		in := request{client: client, commands: []command{{name: "SET", value: int16(client)}}}
		h.note(porcupine.Operation{ClientId: client, Input: in, Output: answer{reply: "+OK"}, Call: 0, Return: 1})
	}
	h.note(porcupine.Operation{Input: request{commands: []command{{name: "GET"}}}, Output: answer{reply: `"-1"`}, Call: 2, Return: 3})
	if h.Check(t, &sum); sum != (Counts{Skipped: 1}) {
		t.Errorf("%+v", sum)
	}
}
