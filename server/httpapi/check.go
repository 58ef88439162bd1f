package httpapi

import (
	"errors"
	"fmt"
	"strings"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/command/limiter"
)

// options are the fields of a check that become options of the command, in this order. KEEP, and WITH, which is last
// there, are apart.
var options = []struct {
	field string
	word  command.Keyword
}{
	{"max_wait", "MAXWAIT"}, {"as", "AS"}, {"for", "FOR"},
}

// check answers POST /v1/check: RL.CHECK with a policy, RL.ALL with limits.
func (s *Service) check(r *request) {
	f, ok := r.readFields()
	if !ok {
		return
	}
	words, name := checkWords(f)
	if reply, ok := s.doBy(r, f, &words); ok {
		d := readDecision(reply)
		if name == "" {
			d.leases = leasesOf(f.of)
		} else {
			d.leases = s.leasesOfPolicy(&words)
		}
		s.sendDecision(&r.w, name, &d)
	}
}

// nameOfLimits is in fields for the name of a policy where there is none.
const nameOfLimits = "limits"

// checkWords returns the words of RL.CHECK or RL.ALL, and the name of the policy, "" if there is none.
func checkWords(f *fields) (words command.Words, name string) {
	if f.of.has("policy") == f.of.has("limits") {
		f.note(errors.New("give either policy and id, or limits"))
		return words, ""
	}
	if f.of.has("policy") {
		name = f.text("policy")
		words = command.NewWords("RL.CHECK", name, f.text("id"))
		if tokens, is := f.optional("tokens"); is {
			words.Number("tokens", tokens)
		}
	} else {
		words = command.NewWords("RL.ALL")
		limitWords(&words, f)
		if tokens, is := f.optional("tokens"); is {
			words.Option("TOKENS")
			words.Number("tokens", tokens)
		}
	}
	words.Option("SPLIT")
	if f.truth("peek") {
		words.Option("PEEK")
	}
	if keep, is := f.optional("keep"); is {
		words.Amount("KEEP", keep)
	}
	for _, o := range options {
		if text, is := f.optional(o.field); is {
			words.Value(o.word, text)
		}
	}
	withWords(&words, f)
	return words, name
}

// withWords appends the fields for the keys of a policy.
func withWords(words *command.Words, f *fields) {
	with := f.member("with", object)
	if with == nil {
		return
	}
	values := fieldsOf(with, "with.")
	for i := range with.items {
		name := with.items[i].name
		words.With(name, values.text(name))
	}
	f.note(values.err)
}

// limitWords appends the limits as RL.ALL takes them.
func limitWords(words *command.Words, f *fields) {
	list := f.member("limits", array)
	switch {
	case list == nil:
		return
	case len(list.items) > engine.MaxParts:
		f.note(fmt.Errorf("limits: at most %d, got %d", engine.MaxParts, len(list.items)))
		return
	case len(list.items) == 0:
		f.note(fmt.Errorf("limits: give at least one"))
	}
	for i := range list.items {
		at := fmt.Sprintf("limits[%d].", i)
		if list.items[i].kind != object {
			f.note(fmt.Errorf("limits[%d]: must be an object", i))
			return
		}
		one := fieldsOf(&list.items[i], at)
		if one.truth("else") {
			words.Option("ELSE")
		}
		algorithm, key, parameters := limitOf(&one)
		limiter.AppendLimit(words, algorithm, key, parameters...)
		limitOptions(words, &one)
		f.note(one.end())
	}
}

// limitOf reads the word of a limit's algorithm and the arguments that it has.
func limitOf(f *fields) (algorithm, key string, parameters []string) {
	algorithm, key = f.text("algorithm"), f.text("key")
	names, known := limiter.SpecArguments(algorithm)
	if !known {
		f.note(fmt.Errorf("%salgorithm: must be one of %s, got %q", f.prefix, strings.Join(limiter.SpecWords(), " "), clip(algorithm)))
		return algorithm, key, nil
	}
	for _, name := range names[1:] { // the first is the key
		parameters = append(parameters, f.text(name))
	}
	return algorithm, key, parameters
}

// limitOptions appends the options of a limit.
func limitOptions(words *command.Words, f *fields) {
	for _, option := range limiter.SpecOptions() {
		name := strings.ToLower(string(option.Word))
		if !option.HasValue {
			if f.truth(name) {
				words.Option(option.Word)
			}
			continue
		}
		text, is := f.optional(name)
		switch {
		case !is:
		case option.IsText:
			words.Value(option.Word, text)
		default:
			words.Amount(option.Word, text)
		}
	}
}
