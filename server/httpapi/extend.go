package httpapi

import (
	"net/http"

	"github.com/tidwall/redcon"

	"github.com/stintdb/stint/server/command"
)

// extension is the reply of RL.EXTEND by name.
type extension struct {
	decision
	Total int64 `json:"total"` // tokens granted to the request and all its extensions
}

// refusedExtension is a denied extension with problem details.
type refusedExtension struct {
	denial
	Total int64 `json:"total"`
}

// extend answers POST /v1/extend.
func (s *Service) extend(r *request) {
	f, ok := r.readFields()
	if !ok {
		return
	}
	words := command.NewWords("RL.EXTEND", f.text("id"))
	words.Number("n", f.text("n"))
	words.Number("tokens", f.text("tokens"))
	words.Option("SPLIT")
	if f.truth("up_to") {
		words.Option("UPTO")
	}
	if text, is := f.optional("for"); is {
		words.Value("FOR", text)
	}
	switch reply, ok := s.doBy(r, f, &words); {
	case !ok:
	case reply.Type != redcon.Array:
		fail(&r.w, http.StatusNotFound, unknownID)
	default:
		e := readExtension(reply)
		s.setFields(r.w.Header(), "", &e.decision)
		if e.Allowed {
			sendJSON(&r.w, http.StatusOK, typeJSON, e)
			return
		}
		body := e.denied("")
		sendJSON(&r.w, body.Status, typeProblem, refusedExtension{body, e.Total})
	}
}

func readExtension(reply redcon.RESP) (e extension) {
	in := numbers(reply.Raw)
	e.decision = in.decision()
	e.Total = in.next()
	return e
}
