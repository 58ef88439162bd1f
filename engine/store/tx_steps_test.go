package store

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/transaction"
)

// txSteps carries out commands that are lists of steps, to test transactions: behind the declared keys, each step is
// a word, a key and a value.
type txSteps struct{}

func (txSteps) Run(tx *transaction.Tx, op *engine.Op, res *engine.Result) {
	for steps := op.Args[op.KeyFrom+op.KeyCount:]; len(steps) > 0; steps = steps[3:] {
		txStep(tx, string(steps[0]), steps[1], string(steps[2]), res)
	}
}

func txStep(tx *transaction.Tx, word string, key []byte, value string, res *engine.Result) {
	if word == "apply" { // an operation on a limiter
		seed, _ := strconv.ParseUint(value, 10, 64)
		op := stepOnLimiter(rand.New(rand.NewPCG(seed, 5)), key)
		var one engine.Result
		tx.Apply(&op, &one)
		res.Reply = fmt.Appendf(res.Reply, "%+v ", shown(one))
		return
	}
	v, found := tx.Get(key)
	if word == "del" {
		res.Reply = fmt.Appendf(res.Reply, "%t ", tx.Delete(key))
		return
	}
	if found && !v.Kind.IsData() { // a limiter is for others to change
		res.Reply = fmt.Appendf(res.Reply, "%v ", v.Kind)
		return
	}
	switch word {
	case "get":
		res.Reply = fmt.Appendf(res.Reply, "%t=%q", found, v.Data)
		if v.ExpiresAt != 0 {
			res.Reply = fmt.Appendf(res.Reply, " in %d ns", v.ExpiresAt-tx.Now())
		}
		res.Reply = append(res.Reply, ' ')
	case "publish":
		res.Reply = fmt.Appendf(res.Reply, "%t ", tx.Publish(key, []byte(value)))
	case "set":
		tx.Set(key, engine.Value{Kind: engine.StringKind, Data: []byte(value)})
	case "add":
		e := tx.Edit(key, engine.StringKind)
		e.Data = append(e.Data, value...)
	case "expire":
		if found {
			ns, _ := strconv.ParseInt(value, 10, 64)
			tx.Edit(key, v.Kind).ExpiresAt = tx.Now() + ns
		}
	case "persist":
		if found {
			tx.Edit(key, v.Kind).ExpiresAt = 0
		}
	}
}

// stepOnLimiter is an operation that a script may apply to the limiter of a key.
func stepOnLimiter(r *rand.Rand, key []byte) engine.Op {
	var n int
	fmt.Sscanf(string(key), "key-%d", &n)
	op := stepPart(r, n)
	switch verb := []engine.Verb{engine.Acquire, engine.Acquire, engine.Refund, engine.Look, engine.Delete}[r.IntN(5)]; verb {
	case engine.Acquire:
		op.Options = []engine.Option{0, engine.Force, engine.UpTo, engine.Peek}[r.IntN(4)]
		return op
	case engine.Refund:
		return engine.Op{Verb: verb, Key: key, Tokens: 1 + r.Int64N(8)}
	default:
		return engine.Op{Verb: verb, Key: key}
	}
}

// txOf is the command of some steps, in words with a blank between them; it declares the keys.
func txOf(keys, steps string) engine.Op {
	op := engine.Op{Verb: engine.Command, Args: [][]byte{[]byte("steps")}, KeyFrom: 1}
	for _, key := range strings.Fields(keys) {
		op.Args = append(op.Args, []byte(key))
		op.KeyCount++
	}
	for _, step := range strings.Split(steps, ", ") {
		words := strings.Split(step+"  ", " ")
		op.Args = append(op.Args, []byte(words[0]), []byte(words[1]), []byte(words[2]))
	}
	return op
}

// stepCommand is a command on some keys, which hold data but for some that belong to a limiter.
func stepCommand(r *rand.Rand) engine.Op {
	keys, steps := "", []string{}
	for range 1 + r.IntN(12) {
		key := fmt.Sprintf("data-%d", r.IntN(24))
		limiter := r.IntN(8) == 0
		if limiter {
			key = fmt.Sprintf("key-%d", r.IntN(24))
		}
		if r.IntN(10) > 0 { // else it is found only as the command runs
			keys += " " + key
		}
		word := []string{"get", "get", "set", "add", "expire", "persist", "del"}[r.IntN(7)]
		if limiter && r.IntN(2) == 0 {
			word = "apply"
		}
		switch word {
		case "apply":
			steps = append(steps, fmt.Sprintf("%s %s %d", word, key, r.IntN(1000)), "get "+key)
		case "expire":
			steps = append(steps, fmt.Sprintf("%s %s %d", word, key, 1+r.Int64N(30*sec)))
		default:
			steps = append(steps, fmt.Sprintf("%s %s %s", word, key, strings.Repeat("x", r.IntN(1<<r.IntN(8)))))
		}
		if r.IntN(3) == 0 {
			break
		}
	}
	return txOf(keys, strings.Join(steps, ", "))
}

func (txSteps) Weigh(*engine.Op, transaction.Held) int { return OpWork }

func (txSteps) ReadsAll(*engine.Op, int) bool { return false }

func (txSteps) IsWorthAttempt(*engine.Op) bool { return true }
