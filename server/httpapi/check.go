package httpapi

import (
	"errors"
	"fmt"
	"strings"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/server/command"
)

// options are the fields of a check that become options of the command, in this order. WITH, which is last there, is apart.
var options = []struct{ field, word string }{
	{"keep", "KEEP"}, {"max_wait", "MAXWAIT"}, {"as", "AS"}, {"for", "FOR"},
}

// check answers POST /v1/check: RL.CHECK with a policy, RL.ALL with limits.
func (s *Service) check(r *request) {
	f, ok := r.readFields()
	if !ok {
		return
	}
	words, name := checkWords(f)
	if reply, ok := s.doBy(r, f, words); ok {
		d := readDecision(reply)
		sendDecision(&r.w, name, &d)
	}
}

// nameOfLimits stands for the name of a policy where there is none.
const nameOfLimits = "limits"

// checkWords returns the words of RL.CHECK or RL.ALL, and the name of the policy.
func checkWords(f *fields) (words [][]byte, name string) {
	if f.of.has("policy") == f.of.has("limits") {
		f.note(errors.New("give either policy and id, or limits"))
		return nil, ""
	}
	words = make([][]byte, 0, 8)
	if f.of.has("policy") {
		name = f.text("policy")
		words = appendWords(words, "RL.CHECK", name, f.text("id"))
		if tokens, is := f.optional("tokens"); is {
			words = appendWords(words, tokens)
		}
	} else {
		name = nameOfLimits
		words = limitWords(appendWords(words, "RL.ALL"), f)
		if tokens, is := f.optional("tokens"); is {
			words = appendWords(words, "TOKENS", tokens)
		}
	}
	if f.truth("peek") {
		words = appendWords(words, "PEEK")
	}
	for _, o := range options {
		if text, is := f.optional(o.field); is {
			words = appendWords(words, o.word, text)
		}
	}
	if with := f.member("with", object); with != nil {
		words = appendWords(words, "WITH")
		values := fieldsOf(with, "with.")
		for i := range with.items {
			name := with.items[i].name
			words = appendWords(words, name, values.text(name))
		}
		f.note(values.err)
	}
	return words, name
}

// limitWords appends the limits as RL.ALL takes them.
func limitWords(words [][]byte, f *fields) [][]byte {
	limits := f.member("limits", array)
	switch {
	case limits == nil:
		return words
	case len(limits.items) > engine.MaxParts:
		f.note(fmt.Errorf("limits: at most %d, got %d", engine.MaxParts, len(limits.items)))
		return words
	case len(limits.items) == 0:
		f.note(fmt.Errorf("limits: there must be one at least"))
	}
	for i := range limits.items {
		at := fmt.Sprintf("limits[%d].", i)
		if limits.items[i].kind != object {
			f.note(fmt.Errorf("limits[%d]: must be an object", i))
			return words
		}
		one := fieldsOf(&limits.items[i], at)
		algorithm := one.text("algorithm")
		arguments, known := command.SpecArguments(algorithm)
		if !known {
			one.note(fmt.Errorf("%salgorithm: must be one of %s, got %q", at, strings.Join(command.SpecWords(), " "), clip(algorithm)))
		}
		words = appendWords(words, algorithm)
		for _, argument := range arguments {
			words = appendWords(words, one.text(argument))
		}
		for _, option := range command.SpecOptions() {
			if text, is := one.optional(strings.ToLower(option)); is {
				words = appendWords(words, option, text)
			}
		}
		f.note(one.end())
	}
	return words
}

// appendWords keeps the bytes of all in one piece.
func appendWords(words [][]byte, more ...string) [][]byte {
	size := 0
	for _, w := range more {
		size += len(w)
	}
	all := make([]byte, 0, size)
	for _, w := range more {
		begin := len(all)
		all = append(all, w...)
		words = append(words, all[begin:len(all):len(all)])
	}
	return words
}
