package httpapi

import (
	"fmt"
	"net/http"
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
	body, bad := decode(r.body)
	if bad == nil && body.kind != object {
		bad = badJSON("it must be an object")
	}
	if bad != nil {
		bad.send(r.w)
		return
	}
	words, name, err := checkWords(&body)
	if err != nil {
		fail(r.w, http.StatusBadRequest, err.Error())
		return
	}
	s.decide(r, name, words, http.StatusTooManyRequests)
}

// decide has the words of RL.CHECK or RL.ALL executed and answers with the decision.
func (s *Service) decide(r *request, name string, words [][]byte, denied int) {
	if reply, ok := s.do(r, words); ok {
		d := readDecision(reply)
		sendDecision(r.w, name, &d, denied)
	}
}

// nameOfLimits stands for the name of a policy where there is none.
const nameOfLimits = "limits"

func checkWords(body *value) (words [][]byte, name string, err error) {
	if body.has("policy") == body.has("limits") {
		return nil, "", fmt.Errorf("give either policy and id, or limits")
	}
	f := fieldsOf(body, "")
	words = make([][]byte, 0, 16)
	if body.has("policy") {
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
		for _, n := range with.names {
			words = appendWords(words, n, values.text(n))
		}
		f.note(values.err)
	}
	return words, name, f.end()
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

func appendWords(words [][]byte, more ...string) [][]byte {
	for _, w := range more {
		words = append(words, []byte(w))
	}
	return words
}
