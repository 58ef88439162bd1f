package limiter

import (
	"math"
	"slices"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/database"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/resp"
)

var policyUsageRow = command.Row{
	Name: "usage", Syntax: "name id [WITH field value [field value ...]]", Group: "limiter",
	Summary: "Show how much a caller has used of each limit of a policy.",
	Returns: "an array of maps as in [`RL.USAGE`](#rlusage), each beginning with the key. Unused limits are listed too.",
	Example: "private 1",
	Cost:    command.PolicyCheck, Flags: command.ReadOnly | command.NotInMulti, Run: runPolicyUsage,
}

// runPolicyUsage waits until this node knows all policies that were set before, and then looks at the limits' keys.
func runPolicyUsage(s command.Session, w *resp.Writer, args [][]byte) {
	words := make([][]byte, len(args)) // the arguments are overwritten while a reply is awaited
	for i, arg := range args {
		words[i] = append([]byte{}, arg...)
	}
	if len(words[3]) == 0 {
		w.Error(errEmptyCaller.Error())
		return
	}
	r := command.Request{Args: words, Bounds: command.Bounds{MaxKeyBytes: engine.MaxKeyBytes}}
	check := engine.Op{Verb: engine.Check, Options: engine.Peek, Key: words[2], Who: words[3], Tokens: 1, MaxKey: math.MaxUint32}
	if err := r.Options(&check, words[4:], []command.Option{optWith}); err != nil {
		w.Error(err.Error())
		return
	}
	awaitPolicies(s, func(done func(func(*resp.Writer))) { askPolicyUsage(s, check, done) })
}

// askPolicyUsage looks at the limits of a policy. The check finds mistakes in the name and the fields, and returns the
// limits of keys that do not exist.
func askPolicyUsage(s command.Session, check engine.Op, done func(write func(*resp.Writer))) {
	keys, ops, sees := s.Server().Keys(), []engine.Op{check}, true
	found := keys.PolicyKeys(check.Key, check.Who, check.Args, func(key []byte) bool {
		sees = s.Reaches(key)
		return sees
	})
	if !s.ReachesAll() && !(found && sees) {
		done(func(w *resp.Writer) { w.Error(command.ErrNoPolicyAccess.Error()) })
		return
	}
	if slices.ContainsFunc(keys.Asked(&check), func(p engine.Op) bool { return p.Limit.Algorithm.IsPurse() }) {
		// home alone knows what callers elsewhere have used
		done(func(w *resp.Writer) { w.Error(command.UndecidedError(engine.NotAwayFromHome, 0, "").Error()) })
		return
	}
	p, _ := keys.PolicyOf(string(check.Key), check.Who)
	for i := range p.Parts {
		t, _ := engine.ReadTemplate(p.Parts[i].Key, true) // it was valid when it was set
		key, _ := t.AppendTo(nil, check.Who, check.Args)
		ops = append(ops, engine.Op{Verb: engine.ListWindows, Key: database.EscapeFrom(key, 0)})
	}
	b := &engine.Batch{Ops: ops, Results: make([]engine.Result, len(ops)), Local: s.Client().ReadOnly}
	b.Done = func() { done(func(w *resp.Writer) { writePolicyUsage(w, ops, b.Results) }) }
	if s.Decide(b) {
		b.Done()
	}
}

func writePolicyUsage(w *resp.Writer, ops []engine.Op, results []engine.Result) {
	check := &results[0]
	switch status := command.Undecided(ops, results); {
	case status != engine.OK:
		w.Error(command.UndecidedError(status, 0, "").Error())
		return
	case check.Status == engine.NotFound:
		w.Error(noPolicy(check).Error())
		return
	case command.WriteFailure(w, check):
		return
	case len(check.Parts) != len(ops)-1: // the policy was changed in between
		w.Error(errPolicyChanged.Error())
		return
	}
	for i := range check.Parts {
		if res := &results[1+i]; res.Status != engine.NotFound && command.WriteFailure(w, res) {
			return
		}
	}
	w.Array(len(check.Parts))
	for i := range check.Parts {
		res := &results[1+i]
		if res.Status == engine.NotFound {
			res = &engine.Result{Limit: check.Parts[i].Limit, Remaining: check.Parts[i].Limit}
		}
		writeUsage(w, []command.Field{{Name: "key", Value: string(database.KeyOf(ops[1+i].Key))}}, res)
	}
}
