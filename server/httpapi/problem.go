package httpapi

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/resp"
)

const (
	typeJSON    = "application/json"
	typeProblem = "application/problem+json"
)

// problem is the body of a response to a request that was not granted or not understood: problem details of RFC 9457.
type problem struct {
	Type   string `json:"type,omitempty"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail,omitempty"`
	Code   string `json:"code,omitempty"` // of the command's error
}

// badRequest is an error in a request, and the status that it is answered with.
type badRequest struct {
	status int
	detail string
}

func (e *badRequest) send(w http.ResponseWriter) { fail(w, e.status, e.detail) }

func fail(w http.ResponseWriter, status int, detail string) {
	sendJSON(w, status, typeProblem, problem{Title: http.StatusText(status), Status: status, Detail: detail})
}

// statusOf maps the codes of error replies. The others are errors in the request.
var statusOf = map[string]int{}

func init() {
	for status, errors := range map[int][]*resp.WireError{
		http.StatusUnauthorized:    {command.ErrNoAuth, command.ErrWrongPass},
		http.StatusForbidden:       {command.ErrNoKeyAccess},
		http.StatusTooManyRequests: {command.ErrRateLimited},
		http.StatusConflict:        {command.ErrWrongType},
		http.StatusServiceUnavailable: {command.ErrOutOfMemory, command.ErrOverloaded, command.ErrNoLeader, command.ErrImporting, command.ErrUncertain, command.ErrNoHome,
			command.ErrNotKept},
	} {
		for _, e := range errors {
			code, _, _ := strings.Cut(e.Text, " ")
			statusOf[code] = status
		}
	}
}

// failReply answers with a command's error.
func failReply(w http.ResponseWriter, reply string) {
	code, detail, _ := strings.Cut(reply, " ")
	status, known := statusOf[code]
	if !known {
		status = http.StatusBadRequest
		if before, _, _ := strings.Cut(command.ErrNoPolicy.Text, "%s"); strings.HasPrefix(reply, before) {
			status = http.StatusNotFound
		}
	}
	sendJSON(w, status, typeProblem, problem{Title: http.StatusText(status), Status: status, Detail: detail, Code: code})
}

// failDo answers a request whose command had no reply: its time was over, or its client has gone.
func failDo(w http.ResponseWriter, err error) {
	fail(w, http.StatusGatewayTimeout, "the request took longer than --command-timeout and was given up: "+err.Error())
}

func sendJSON(w http.ResponseWriter, status int, contentType string, body any) {
	text, err := json.Marshal(body)
	if err != nil {
		panic(err) // the bodies here have no values that JSON lacks
	}
	send(w, status, contentType, append(text, '\n'))
}

func send(w http.ResponseWriter, status int, contentType string, body []byte) {
	h := w.Header()
	values := [2]string{contentType, strconv.Itoa(len(body))}
	h["Content-Type"], h["Content-Length"] = values[:1:1], values[1:]
	if status != http.StatusOK { // which Write implies
		w.WriteHeader(status)
	}
	_, _ = w.Write(body) // it fails only if the client has gone
}
