package server

import (
	"context"
	"errors"

	"github.com/tidwall/redcon"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/conn"
)

// ErrReply is a reply that was an error.
type ErrReply string

// Error implements error.
func (e ErrReply) Error() string { return string(e) }

// FromPage is the prefix of the browser's address in the address of a command from the operators' page.
const FromPage = "admin/"

// Do executes a command for the operators' page and returns its reply in RESP2; from is the browser's address. An error
// of the command is an [ErrReply]. With --admin-token everything is permitted, without it what the user default may do.
func (s *Server) Do(ctx context.Context, from string, words ...string) (redcon.RESP, error) {
	in := redcon.AppendArray(nil, len(words))
	for _, w := range words {
		in = redcon.AppendBulkString(in, w)
	}
	user := s.operatorUser
	if s.Config().AdminToken == "" {
		user = s.env.Users.Default()
	}
	reply, err := s.env.Do(ctx, conn.Caller{User: user, Address: FromPage + from}, in)
	if err != nil {
		return redcon.RESP{}, err
	}
	_, parsed := redcon.ReadNextRESP(reply)
	if parsed.Type == redcon.Error {
		return parsed, ErrReply(parsed.String())
	}
	return parsed, nil
}

// DecideReadOnly decides operations that change nothing, and waits for the results.
func (s *Server) DecideReadOnly(ctx context.Context, ops []engine.Op) ([]engine.Result, error) {
	done := make(chan struct{})
	b := &engine.Batch{Ops: ops, Results: make([]engine.Result, len(ops)), Local: true, Done: func() { close(done) }}
	for i := range ops {
		if ops[i].Writes() {
			return nil, errors.New("server: Ask is for operations that change nothing")
		}
	}
	if s.env.Decider.Decide(b) {
		return b.Results, nil
	}
	select {
	case <-done:
		return b.Results, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Bounds are the bounds that the settings put on arguments of commands.
func (s *Server) Bounds() command.Bounds { return conn.Bounds(s.Config()) }
