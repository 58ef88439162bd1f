package limiter

import (
	"bytes"
	"strconv"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/database"
	"github.com/stintdb/stint/engine/keyspace"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/localstore"
	"github.com/stintdb/stint/server/resp"
)

// A step of RL.POLICY CALLERS ends at the first of these bounds.
const (
	callersCount     = 1000      // keys that it looks at without COUNT
	maxCallersCount  = 10_000    // keys that it looks at; divided by the number of limits, with each of which a key is compared
	maxCallersListed = 500       // keys that it lists
	maxCallersBytes  = 100 << 10 // bytes of the listed keys
)

var policyCallersRow = command.Row{
	Name: "callers", Syntax: "name cursor [COUNT count]", Group: "limiter",
	Summary: "Show how much all callers have used of the limits of a policy, in steps as SCAN does: begin with the cursor 0, and go on with the cursor of " +
		"each reply until it is 0. A step looks at COUNT keys (default 1000). Only existing keys of the policy's own limits are listed, not those of " +
		"overrides. With --cluster-replicas, a node lists only the keys of the groups of which it has a replica; ask other nodes for the rest.",
	Returns: "an array of three elements: the next cursor; an array of maps; and an array of the numbers of the groups whose keys are not on this node, empty if the list is complete. Each map has id (the caller's id, null if the key does not contain it), with (an array of the names and values of fields), key, and the fields of [`RL.USAGE`](#rlusage) without history.",
	Example: "private 0",
	Cost:    command.KeyStep, Flags: command.ReadOnly | command.NotInMulti, Run: runPolicyCallers,
}

// callersStep is one RL.POLICY CALLERS.
type callersStep struct {
	policy []byte
	cursor uint64
	count  int

	templates []engine.Template // of the limits' keys
	found     []callerKey
	bytes     int
	elsewhere []int // groups whose keys are not here
}

// callerKey is a key of a policy's limit, and the values of which the limit's template makes it.
type callerKey struct {
	name, key, id []byte
	fields        [][]byte
}

func runPolicyCallers(s command.Session, w *resp.Writer, args [][]byte) {
	step, err := parseCallers(args)
	if err != nil {
		w.Error(err.Error())
		return
	}
	awaitPolicies(s, func(done func(func(*resp.Writer))) { step.list(s, done) })
}

func parseCallers(args [][]byte) (step *callersStep, err error) {
	step = &callersStep{policy: bytes.Clone(args[2]), count: callersCount}
	if step.cursor, err = strconv.ParseUint(string(args[3]), 10, 64); err != nil {
		return nil, command.ErrInvalidCursor
	}
	switch {
	case len(args) == 4:
		return step, nil
	case len(args) != 6 || !command.IsWord(args[4], "COUNT"):
		return nil, command.ErrSyntax
	}
	count, err := command.ParseIntegerBetween("COUNT", args[5], 1, maxCallersCount)
	step.count = int(count)
	return step, err
}

// list finds the keys of a step and shows their usage.
func (c *callersStep) list(s command.Session, done func(write func(*resp.Writer))) {
	keys := s.Server().Keys()
	p, found := keys.PolicyOf(string(c.policy), nil)
	switch {
	case !s.ReachesAll() && !seesPolicy(s, string(c.policy)):
		done(func(w *resp.Writer) { w.Error(command.ErrNoPolicyAccess.Error()) })
		return
	case !found:
		done(func(w *resp.Writer) { w.Error(command.ErrNoPolicy.With(command.Truncate(c.policy, 64)).Error()) })
		return
	}
	for i := range p.Parts {
		t, _ := engine.ReadTemplate(p.Parts[i].Key, true) // it was valid when it was set
		c.templates = append(c.templates, t)
	}
	next := localstore.ScanReplicas(keys, c.cursor, min(c.count, maxCallersCount/len(p.Parts)), s.Server().Now(), func(e keyspace.Entry) (more bool) {
		if e.Limit.Algorithm.Base().Decides() && !e.Limit.Algorithm.IsPurse() && s.Reaches(database.KeyOf(e.Key)) {
			c.add(e.Key)
		}
		return len(c.found) < maxCallersListed && c.bytes < maxCallersBytes
	})
	c.elsewhere = localstore.Elsewhere(keys)
	b := &engine.Batch{Local: s.Client().ReadOnly}
	for _, f := range c.found {
		b.Ops = append(b.Ops, engine.Op{Verb: engine.ListWindows, Key: f.name})
	}
	b.Results = make([]engine.Result, len(b.Ops))
	b.Done = func() { done(func(w *resp.Writer) { c.write(w, next, b) }) }
	if len(b.Ops) == 0 || s.Decide(b) {
		b.Done()
	}
}

// add adds a key, given its name, if one of the limits can have it.
func (c *callersStep) add(name []byte) {
	number, key := database.Split(name)
	if number != 0 {
		return
	}
	for i := range c.templates {
		if _, _, is := c.templates[i].Values(key); !is {
			continue
		}
		f := callerKey{name: bytes.Clone(name), key: bytes.Clone(key)}
		f.id, f.fields, _ = c.templates[i].Values(f.key)
		c.found = append(c.found, f)
		c.bytes += len(key)
		return
	}
}

// write replies with the keys that still exist.
func (c *callersStep) write(w *resp.Writer, next uint64, b *engine.Batch) {
	if status := command.Undecided(b.Ops, b.Results); status != engine.OK {
		w.Error(command.UndecidedError(status, 0, "").Error())
		return
	}
	listed := 0
	for i := range b.Results {
		if b.Results[i].Status == engine.OK {
			listed++
		}
	}
	w.Array(3)
	w.BulkString(strconv.FormatUint(next, 10))
	w.Array(listed)
	for i := range c.found {
		if b.Results[i].Status != engine.OK {
			continue
		}
		f := &c.found[i]
		var id any = string(f.id)
		if f.id == nil {
			id = null
		}
		fields, _ := usageFields([]command.Field{{Name: "id", Value: id}, {Name: "with", Value: command.Texts(f.fields)}, {Name: "key", Value: string(f.key)}}, &b.Results[i])
		command.WriteFields(w, fields)
	}
	w.Array(len(c.elsewhere))
	for _, number := range c.elsewhere {
		w.Int(int64(number))
	}
}
