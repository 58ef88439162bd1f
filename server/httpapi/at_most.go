package httpapi

import (
	"net/http"

	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/command/limiter"
)

// taken is the reply of RL.ATMOST by name.
type taken struct {
	Taken int64 `json:"taken"` // tokens that were there beyond those to be left
	state
}

// atMost answers POST /v1/atmost.
func (s *Service) atMost(r *request) {
	f, ok := r.readFields()
	if !ok {
		return
	}
	words := command.NewWords("RL.ATMOST")
	algorithm, key, parameters := limitOf(f)
	limiter.AppendLimitOfKey(&words, algorithm, key, parameters...)
	words.Number("tokens", f.text("tokens"))
	limitOptions(&words, f)
	if reply, ok := s.doBy(r, f, &words); ok {
		in := numbers(reply.Raw)
		in.next() // the length
		t := taken{Taken: in.next(), state: state{Limit: in.next(), Remaining: in.next()}}
		in.next() // no wait
		t.ResetMs = in.next()
		sendJSON(&r.w, http.StatusOK, typeJSON, t)
	}
}
