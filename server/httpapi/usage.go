package httpapi

import (
	"errors"
	"net/http"

	"github.com/tidwall/redcon"

	"github.com/stintdb/stint/internal/bytetext"
	"github.com/stintdb/stint/server/command"
)

// usage is the reply of RL.USAGE by name. Fields that are null there are left out, and the key is there for a policy
// only.
type usage struct {
	Key       *string        `json:"key,omitempty"`
	KeyBase64 []byte         `json:"key_base64,omitempty"` // in place of key if it is not UTF-8
	Limit     int64          `json:"limit"`
	Used      int64          `json:"used"`
	Reserved  *int64         `json:"reserved,omitempty"`
	Lent      int64          `json:"lent"`
	Remaining int64          `json:"remaining"`
	StartMs   *int64         `json:"start_ms,omitempty"`
	EndMs     *int64         `json:"end_ms,omitempty"`
	History   []closedWindow `json:"history"`
}

// closedWindow is a window that is over.
type closedWindow struct {
	StartMs  int64 `json:"start_ms"`
	EndMs    int64 `json:"end_ms"`
	Used     int64 `json:"used"`
	Reserved int64 `json:"reserved"`
}

// usage answers POST /v1/usage: RL.POLICY USAGE with a policy, RL.USAGE with a key.
func (s *Service) usage(r *request) {
	f, ok := r.readFields()
	if !ok {
		return
	}
	if f.of.has("policy") == f.of.has("key") {
		f.note(errors.New("give either policy and id, or key"))
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
		sendJSON(&r.w, http.StatusOK, typeJSON, readUsage(reply))
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
	limits := []usage{}
	reply.ForEach(func(v redcon.RESP) bool {
		limits = append(limits, readUsage(v))
		return true
	})
	sendJSON(&r.w, http.StatusOK, typeJSON, map[string][]usage{"limits": limits})
}

// readUsage reads names and values by turns.
func readUsage(reply redcon.RESP) usage {
	u, name := usage{History: []closedWindow{}}, ""
	reply.ForEach(func(v redcon.RESP) bool {
		if name == "" {
			name = v.String()
			return true
		}
		n := v.Int()
		switch name {
		case "key":
			u.Key, u.KeyBase64 = bytetext.JSON(v.Bytes())
		case "limit":
			u.Limit = n
		case "used":
			u.Used = n
		case "reserved":
			u.Reserved = unlessNull(v, n)
		case "lent":
			u.Lent = n
		case "remaining":
			u.Remaining = n
		case "start_ms":
			u.StartMs = unlessNull(v, n)
		case "end_ms":
			u.EndMs = unlessNull(v, n)
		case "history":
			v.ForEach(func(w redcon.RESP) bool {
				var n [4]int64
				readIntegers(w, n[:])
				u.History = append(u.History, closedWindow{n[0], n[1], n[2], n[3]})
				return true
			})
		}
		name = ""
		return true
	})
	return u
}

func unlessNull(v redcon.RESP, n int64) *int64 {
	if v.Type != redcon.Integer {
		return nil
	}
	return &n
}
