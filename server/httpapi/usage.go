package httpapi

import (
	"errors"
	"net/http"

	"github.com/tidwall/redcon"

	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/usage"
)

// usage answers POST /v1/usage: RL.POLICY USAGE with a policy, RL.USAGE with a key.
func (s *Service) usage(r *request) {
	f, ok := r.readFields()
	if !ok {
		return
	}
	if f.of.has("policy") == f.of.has("key") {
		f.note(errors.New("give either policy and id, or key"))
	}
	if f.of.has("policy") && (f.of.has("cursor") || f.of.has("count")) {
		s.callers(r, f)
		return
	}
	if f.of.has("policy") {
		s.policyUsage(r, f)
		return
	}
	words := command.NewWords("RL.USAGE", f.text("key"))
	reply, ok := s.doBy(r, f, &words)
	switch {
	case !ok:
	case reply.Type != redcon.Array:
		fail(&r.w, http.StatusNotFound, "the key does not exist: nothing of it was used, or it has expired")
	default:
		sendJSON(&r.w, http.StatusOK, typeJSON, usage.Read(reply))
	}
}

// policyUsage answers with the usage of all limits of a policy.
func (s *Service) policyUsage(r *request, f *fields) {
	words := command.NewWords("RL.POLICY", "USAGE", f.text("policy"), f.text("id"))
	withWords(&words, f)
	reply, ok := s.doBy(r, f, &words)
	if !ok {
		return
	}
	limits := []usage.Usage{}
	reply.ForEach(func(v redcon.RESP) bool {
		limits = append(limits, usage.Read(v))
		return true
	})
	sendJSON(&r.w, http.StatusOK, typeJSON, map[string][]usage.Usage{"limits": limits})
}

// callers answers with a step through the usage of all callers of a policy.
func (s *Service) callers(r *request, f *fields) {
	if f.of.has("id") {
		f.note(errors.New("cursor: give it without id, for all callers"))
	}
	words := command.NewWords("RL.POLICY", "CALLERS", f.text("policy"))
	words.Number("cursor", f.text("cursor"))
	if count, is := f.optional("count"); is {
		words.Option("COUNT")
		words.Number("count", count)
	}
	reply, ok := s.doBy(r, f, &words)
	if !ok {
		return
	}
	sendJSON(&r.w, http.StatusOK, typeJSON, usage.ReadPage(reply))
}
