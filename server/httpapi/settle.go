package httpapi

import (
	"errors"
	"net/http"

	"github.com/tidwall/redcon"
)

// settlement is the reply of RL.SETTLE and RL.CANCEL by name.
type settlement struct {
	Limits []charge `json:"limits"`
}

// charge is the state of a limit after a settlement.
type charge struct {
	Charged int64 `json:"charged"`
	state
}

// settle answers POST /v1/settle.
func (s *Service) settle(r *request) {
	s.settleBy(r, func(f *fields) [][]byte {
		words := appendWords(nil, "RL.SETTLE", f.text("id"))
		costs := f.member("costs", array)
		tokens, is := f.optional("tokens")
		switch {
		case is == (costs != nil):
			f.note(errors.New("give either tokens or costs"))
		case is:
			return appendWords(words, tokens)
		default:
			words = appendWords(words, "COSTS")
			for i := range costs.items {
				switch c := &costs.items[i]; c.kind {
				case null:
					words = appendWords(words, "-")
				case scalar:
					words = appendWords(words, c.text)
				default:
					f.note(errors.New("costs: must be numbers, and null for the amount that was asked for"))
				}
			}
		}
		return words
	})
}

// cancel answers POST /v1/cancel.
func (s *Service) cancel(r *request) {
	s.settleBy(r, func(f *fields) [][]byte { return appendWords(nil, "RL.CANCEL", f.text("id")) })
}

func (s *Service) settleBy(r *request, command func(f *fields) [][]byte) {
	body, bad := decode(r.body)
	if bad == nil && body.kind != object {
		bad = badJSON("it must be an object")
	}
	if bad != nil {
		bad.send(r.w)
		return
	}
	f := fieldsOf(&body, "")
	words := command(f)
	if err := f.end(); err != nil {
		fail(r.w, http.StatusBadRequest, err.Error())
		return
	}
	reply, ok := s.do(r, words)
	switch {
	case !ok:
	case reply.Type != redcon.Array:
		fail(r.w, http.StatusNotFound, "the id is not known, or no longer")
	default:
		sendJSON(r.w, http.StatusOK, typeJSON, readSettlement(reply))
	}
}

func readSettlement(reply redcon.RESP) (s settlement) {
	s.Limits = []charge{}
	reply.ForEach(func(limit redcon.RESP) bool {
		var n [4]int64
		at := 0
		limit.ForEach(func(part redcon.RESP) bool {
			n[at] = part.Int()
			at++
			return at < len(n)
		})
		s.Limits = append(s.Limits, charge{n[0], state{n[1], n[2], n[3]}})
		return true
	})
	return s
}

// do has a command executed. If there is no reply but an error, it answers with that and returns false.
func (s *Service) do(r *request, words [][]byte) (reply redcon.RESP, ok bool) {
	reply, err := s.gateway.Do(r.Context(), r.caller, words...)
	switch {
	case err != nil:
		failDo(r.w, err)
	case reply.Type == redcon.Error:
		failReply(r.w, reply.String())
	default:
		return reply, true
	}
	return reply, false
}
