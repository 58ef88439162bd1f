package limiter

import (
	"slices"

	"github.com/stintdb/stint/engine/policy"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/resp"
)

const (
	usualOverrides = 100       // the default COUNT
	mostOverrides  = 1000      // the largest COUNT
	overridesBytes = 256 << 10 // bytes of limits and ids after which a list ends, but not before its first override
)

var policyOverridesRow = command.Row{
	Name: "overrides", Syntax: "name [FROM id] [COUNT count]", Group: "limiter",
	Summary: "List the overrides of a policy in the order of the callers' ids, beginning with an id. COUNT is 100 by default and at most 1000.",
	Returns: "two elements: the id to continue FROM (null at the end), and an array of pairs of id and limits, fewer than COUNT if the limits are many or long. Overrides whose keys the user may not read are left out. The reply is null if the policy does not exist or the user may not read its keys.",
	Example: "private",
	Cost:    command.PolicyList, Flags: command.ReadOnly, Run: runPolicyOverrides,
}

func runPolicyOverrides(s command.Session, w *resp.Writer, args [][]byte) {
	from, count := "", int64(usualOverrides)
	for words := args[3:]; len(words) > 0; words = words[2:] {
		if len(words) < 2 {
			w.Error(command.ErrSyntax.Error())
			return
		}
		switch {
		case command.IsWord(words[0], "FROM"):
			from = string(words[1])
		case command.IsWord(words[0], "COUNT"):
			var err error
			if count, err = command.ParseIntegerBetween("COUNT", words[1], 1, mostOverrides); err != nil {
				w.Error(err.Error())
				return
			}
		default:
			w.Error(command.ErrSyntax.Error())
			return
		}
	}
	name := string(args[2]) // the arguments are overwritten while a reply is awaited
	whenCurrent(s, w, func(w *resp.Writer) { writeOverrides(s, w, name, from, int(count)) })
}

func writeOverrides(s command.Session, w *resp.Writer, name, from string, count int) {
	if !seesPolicy(s, name) {
		w.Null()
		return
	}
	ids := seenOverrides(s, name, from, count+1)
	type override struct {
		id    string
		specs []string
	}
	var (
		shown []override
		bytes int
		next  = -1 // the place of the next FROM in ids
	)
	for i, id := range ids {
		if i == count || bytes > overridesBytes {
			next = i
			break
		}
		own, _ := s.Server().Keys().PolicyOf(name, []byte(id))
		if !own.IsOwn {
			continue // it was removed in between
		}
		o := override{id: id, specs: specTexts(own.Parts)}
		bytes += len(id)
		for _, spec := range o.specs {
			bytes += len(spec)
		}
		shown = append(shown, o)
	}
	w.Array(2)
	if next < 0 {
		w.Null()
	} else {
		w.BulkString(ids[next])
	}
	w.Array(len(shown))
	for _, o := range shown {
		w.Array(2)
		w.BulkString(o.id)
		command.WriteTexts(w, o.specs)
	}
}

// seenOverrides lists the first callers with an override whom the user may see, in the order of their ids, from an id
// on. Nothing must reveal other callers, so the next FROM is not the id of one of them either.
func seenOverrides(s command.Session, name, from string, most int) (ids []string) {
	all := overriddenFrom(s, name, from, most)
	isWhole := len(all) < most
	ids = firstSeen(s, name, all, most)
	if len(ids) < most && !isWhole {
		ids = firstSeen(s, name, overriddenFrom(s, name, from, policy.MaxOverrides), most)
	}
	return ids
}

func firstSeen(s command.Session, name string, all []string, most int) (ids []string) {
	for _, id := range all {
		if len(ids) == most {
			break
		}
		if seesCaller(s, name, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// overriddenFrom lists the first callers with an override in the order of their ids, from an id on.
func overriddenFrom(s command.Session, name, from string, most int) (ids []string) {
	s.Server().Keys().Overridden(name, func(id string) {
		if id < from {
			return
		}
		if ids = append(ids, id); len(ids) >= 2*most { // not each time, so that sorting costs little
			slices.Sort(ids)
			ids = ids[:most]
		}
	})
	slices.Sort(ids)
	return ids[:min(len(ids), most)]
}
