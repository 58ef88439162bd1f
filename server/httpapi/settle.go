package httpapi

import (
	"errors"
	"net/http"

	"github.com/tidwall/redcon"

	"github.com/stintdb/stint/server/command"
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

const unknownID = "the id is unknown, or was forgotten after its FOR"

// settle answers POST /v1/settle.
func (s *Service) settle(r *request) {
	s.settleBy(r, func(f *fields) command.Words {
		words := command.NewWords("RL.SETTLE", f.text("id"))
		costs := f.member("costs", array)
		tokens, is := f.optional("tokens")
		switch {
		case is == (costs != nil):
			f.note(errors.New("give either tokens or costs"))
		case is:
			words.Number("tokens", tokens)
		default:
			words.Option("COSTS")
			for i := range costs.items {
				switch c := &costs.items[i]; c.kind {
				case null:
					words.Option("-")
				case scalar:
					words.Number("costs", c.text)
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
	s.settleBy(r, func(f *fields) command.Words { return command.NewWords("RL.CANCEL", f.text("id")) })
}

func (s *Service) settleBy(r *request, wordsOf func(f *fields) command.Words) {
	f, ok := r.readFields()
	if !ok {
		return
	}
	words := wordsOf(f)
	reply, ok := s.doBy(r, f, &words)
	switch {
	case !ok:
	case reply.Type != redcon.Array:
		fail(&r.w, http.StatusNotFound, unknownID)
	default:
		sendJSON(&r.w, http.StatusOK, typeJSON, readSettlement(reply))
	}
}

func readSettlement(reply redcon.RESP) (s settlement) {
	s.Limits = []charge{}
	reply.ForEach(func(limit redcon.RESP) bool {
		var n [4]int64
		readIntegers(limit, n[:])
		s.Limits = append(s.Limits, charge{n[0], state{Limit: n[1], Remaining: n[2], ResetMs: n[3]}})
		return true
	})
	return s
}
