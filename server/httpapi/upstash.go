package httpapi

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/tidwall/redcon"

	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/resp"
)

// maxCommands bounds the commands of one request.
const maxCommands = 1000

var errWords = errors.New("a command must be an array of strings, numbers and booleans")

// one answers POST / of Upstash's REST dialect: a command as an array of words.
func (s *Service) one(r *request) {
	words, err := wordsOf(&r.json)
	if r.bad != nil || err != nil {
		failRequest(&r.w, r.bad, err)
		return
	}
	replies, err := s.gateway.DoAll(r.Context(), r.caller, words)
	if err != nil {
		failUpstash(&r.w, http.StatusGatewayTimeout, err.Error())
		return
	}
	s.sendUpstash(r, replies[0], statusOfReply(replies[0]))
}

// several answers POST /pipeline, an array of commands, each with its reply, and POST /multi-exec, the same as a
// transaction.
func (s *Service) several(r *request, atomic bool) {
	commands, err := commandsOf(&r.json)
	if r.bad != nil || err != nil {
		failRequest(&r.w, r.bad, err)
		return
	}
	if atomic {
		commands = append(append([]command.Words{command.NewWords("MULTI")}, commands...), command.NewWords("EXEC"))
	}
	replies, err := s.gateway.DoAll(r.Context(), r.caller, commands...)
	switch {
	case err != nil:
		failUpstash(&r.w, http.StatusGatewayTimeout, err.Error())
		return
	case len(replies) < len(commands): // the last is the reason
		s.sendUpstash(r, replies[len(replies)-1], http.StatusBadRequest)
		return
	case atomic && replies[len(replies)-1].Type == redcon.Error:
		s.sendUpstash(r, replies[len(replies)-1], statusOfReply(replies[len(replies)-1]))
		return
	}
	out := []byte{'['}
	s.gateway.InTurn(r.caller, func() {
		if atomic {
			replies = resp.Elements(replies[len(replies)-1])
		}
		encoded := isBase64(r)
		for i, reply := range replies {
			if i > 0 {
				out = append(out, ',')
			}
			out = appendUpstash(out, reply, encoded)
		}
	})
	send(&r.w, http.StatusOK, typeJSON, append(out, "]\n"...))
}

func commandsOf(list *value) (commands []command.Words, err error) {
	switch {
	case list.kind != array || len(list.items) == 0:
		return nil, errors.New("the body must be an array of commands")
	case len(list.items) > maxCommands:
		return nil, fmt.Errorf("at most %d commands in a request, got %d", maxCommands, len(list.items))
	}
	for i := range list.items {
		words, err := wordsOf(&list.items[i])
		if err != nil {
			return nil, err
		}
		commands = append(commands, words)
	}
	return commands, nil
}

// wordsOf reads a command, whose words are the caller's own.
func wordsOf(v *value) (command.Words, error) {
	if v.kind != array || len(v.items) == 0 {
		return command.Words{}, errWords
	}
	words := make([][]byte, 0, len(v.items))
	for _, item := range v.items {
		if item.kind != scalar {
			return command.Words{}, errWords
		}
		words = append(words, []byte(item.text))
	}
	return command.AsWritten(words...), nil
}

// upstashError is the body of a response to a command that failed.
type upstashError struct {
	Error string `json:"error"`
}

// failUpstash answers a request that is not let in.
func failUpstash(w http.ResponseWriter, status int, detail string) {
	sendJSON(w, status, typeJSON, upstashError{detail})
}

// failRequest answers a body that is none of the dialect.
func failRequest(w http.ResponseWriter, bad *badRequest, err error) {
	if bad != nil {
		err = errors.New(bad.detail)
	}
	failUpstash(w, http.StatusBadRequest, command.ErrRequest.With(err).Error())
}

// statusOfReply is 200 or, of an error, what [statusOf] says.
func statusOfReply(reply redcon.RESP) int {
	if reply.Type != redcon.Error {
		return http.StatusOK
	}
	code, _, _ := strings.Cut(reply.String(), " ")
	if status, known := statusOf[code]; known && status != http.StatusConflict {
		return status
	}
	return http.StatusBadRequest
}

func (s *Service) sendUpstash(r *request, reply redcon.RESP, status int) {
	var out []byte
	s.gateway.InTurn(r.caller, func() { out = append(appendUpstash(nil, reply, isBase64(r)), '\n') })
	send(&r.w, status, typeJSON, out)
}

// isBase64 reports whether the client asks for strings in base64, which can hold any bytes.
func isBase64(r *request) bool { return strings.EqualFold(r.Header.Get("Upstash-Encoding"), "base64") }

// appendUpstash appends a reply as {"result": …} or {"error": …}.
func appendUpstash(b []byte, reply redcon.RESP, encoded bool) []byte {
	if reply.Type == redcon.Error {
		text, _ := json.Marshal(upstashError{reply.String()})
		return append(b, text...)
	}
	return append(appendResult(append(b, `{"result":`...), reply, encoded), '}')
}

// appendResult appends a reply in JSON. The status OK is never encoded: clients know it by its text.
func appendResult(b []byte, reply redcon.RESP, encoded bool) []byte {
	switch {
	case reply.Type == redcon.Integer:
		return append(b, reply.Data...)
	case isNull(reply):
		return append(b, "null"...)
	case reply.Type == redcon.Array:
		b = append(b, '[')
		for i, item := range resp.Elements(reply) {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendResult(b, item, encoded)
		}
		return append(b, ']')
	case encoded && reply.String() != "OK" && reply.Type != redcon.Error:
		return append(base64.StdEncoding.AppendEncode(append(b, '"'), reply.Data), '"')
	}
	text, _ := json.Marshal(reply.String())
	return append(b, text...)
}

// isNull reports whether a reply is the null of a string or an array.
func isNull(reply redcon.RESP) bool {
	return (reply.Type == redcon.Bulk || reply.Type == redcon.Array) && len(reply.Raw) > 1 && reply.Raw[1] == '-'
}
