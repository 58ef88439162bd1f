package httpapi

import (
	"net/http"

	"github.com/tidwall/redcon"

	"github.com/stintdb/stint/server/command"
)

// readFields reads the fields of a request's body, an object. If it is none, it answers with the error and returns
// false.
func (r *request) readFields() (f *fields, ok bool) {
	bad := r.bad
	if bad == nil && r.json.kind != object {
		bad = badJSON("it must be an object")
	}
	if bad != nil {
		bad.send(&r.w)
		return nil, false
	}
	r.fields = fieldsOf(&r.json, "")
	return &r.fields, true
}

// doBy executes a command whose words are all from fields. If there is no reply but an error, it answers
// with that and returns false.
func (s *Service) doBy(r *request, f *fields, words *command.Words) (reply redcon.RESP, ok bool) {
	err := f.end()
	if err == nil {
		err = words.Err()
	}
	if err != nil {
		fail(&r.w, http.StatusBadRequest, err.Error())
		return reply, false
	}
	return s.do(r, words)
}

// do executes a command, as doBy does.
func (s *Service) do(r *request, words *command.Words) (reply redcon.RESP, ok bool) {
	reply, err := s.gateway.Do(r.Context(), r.caller, words)
	switch {
	case err != nil:
		failDo(&r.w, err)
	case reply.Type == redcon.Error:
		failReply(&r.w, reply.String())
	default:
		return reply, true
	}
	return reply, false
}
