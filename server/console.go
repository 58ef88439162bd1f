package server

import (
	"context"
	"errors"

	"github.com/tidwall/redcon"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/server/command"
)

// ErrReply is a reply that was an error.
type ErrReply string

// Error implements error.
func (e ErrReply) Error() string { return string(e) }

// Do carries out one command as a connection would, but for one that nobody opened, and returns its reply in RESP2. An
// error of the command is an [ErrReply]. It is for operators: no user's permissions are asked.
func (s *Server) Do(ctx context.Context, words ...string) (redcon.RESP, error) {
	woken := make(chan struct{}, 1)
	c := s.newSession("admin", "admin", func() {
		select {
		case woken <- struct{}{}:
		default:
		}
	})
	c.user = s.operator
	in := redcon.AppendArray(nil, len(words))
	for _, w := range words {
		in = redcon.AppendBulkString(in, w)
	}
	for {
		ws := s.borrow()
		c.arrive(in, ws, s.Config())
		reply := append([]byte(nil), ws.out.Buf...)
		s.release(c, ws)
		if len(reply) > 0 {
			_, parsed := redcon.ReadNextRESP(reply)
			if parsed.Type == redcon.Error {
				return parsed, ErrReply(parsed.String())
			}
			return parsed, nil
		}
		if c.ready() {
			return redcon.RESP{}, errors.New("the command has no reply")
		}
		in = nil
		select {
		case <-woken:
		case <-ctx.Done():
			c.abandon()
			return redcon.RESP{}, ctx.Err()
		}
	}
}

// Ask has operations decided that change nothing, and waits for the answer.
func (s *Server) Ask(ctx context.Context, ops []engine.Op) ([]engine.Result, error) {
	done := make(chan struct{})
	b := &engine.Batch{Ops: ops, Results: make([]engine.Result, len(ops)), Local: true, Done: func() { close(done) }}
	for i := range ops {
		if ops[i].Writes() {
			return nil, errors.New("server: Ask is for operations that change nothing")
		}
	}
	if s.decider.Decide(b) {
		return b.Results, nil
	}
	select {
	case <-done:
		return b.Results, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Bounds are what the settings bound in the arguments of commands.
func (s *Server) Bounds() command.Bounds { return bounds(s.Config()) }
