package server

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/tidwall/redcon"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/config"
	"github.com/stintdb/stint/server/conn"
	"github.com/stintdb/stint/server/resp"
)

// ErrReply is a reply that was an error.
type ErrReply string

// Error implements error.
func (e ErrReply) Error() string { return string(e) }

// FromPage is the prefix of the browser's address in the address of a command from the operators' page.
const FromPage = "admin/"

// FromSettings is the from of commands that the settings of the server demand.
const FromSettings = "settings"

// Do executes commands for the operators' page, as a connection that sends them at once, and returns their replies in
// RESP2; from is the browser's address, or [FromSettings]. The first reply that is an error is returned as an
// [ErrReply]. With --admin-token, and from the settings, everything is permitted, otherwise what the user default may
// do.
func (s *Server) Do(ctx context.Context, from string, commands ...[]string) ([]redcon.RESP, error) {
	return do(ctx, s, from, nil, commands)
}

// ErrPoliciesChanged says that the policies do not have the sum that was expected. Nothing was done.
var ErrPoliciesChanged = errors.New("somebody else has changed the policies meanwhile: nothing was changed")

// DoTogether is [Server.Do] for a transaction, and returns the replies to its commands. If policies is not nil and the
// policies have another sum by then, the transaction is not executed, with the error [ErrPoliciesChanged].
func DoTogether(ctx context.Context, s *Server, from string, policies *[engine.PoliciesSumBytes]byte, commands [][]string) (replies []redcon.RESP, err error) {
	commands = slices.Concat([][]string{{"MULTI"}}, commands, [][]string{{"EXEC"}})
	if policies != nil {
		expect := engine.ExpectPolicies(*policies)
		replies, err = do(ctx, s, from, &expect, commands)
	}
	if policies == nil || isTooNew(err) { // during an upgrade, what this node knows of the policies has to do
		replies, err = do(ctx, s, from, nil, commands)
	}
	if err != nil {
		return nil, err
	}
	executed := replies[len(replies)-1]
	if executed.Count < 0 {
		return nil, ErrPoliciesChanged
	}
	replies = resp.Elements(executed)
	for _, reply := range replies {
		if reply.Type == redcon.Error {
			return replies, ErrReply(reply.String())
		}
	}
	return replies, nil
}

// isTooNew reports whether an error says that a member of the cluster is too old for what it was asked.
func isTooNew(err error) bool {
	var reply ErrReply
	about, _, _ := strings.Cut(command.ErrTooNew.Error(), "%")
	return errors.As(err, &reply) && strings.HasPrefix(string(reply), about)
}

// do executes commands, a transaction among them only if what it expects holds; nil for nothing.
func do(ctx context.Context, s *Server, from string, expect *engine.Op, commands [][]string) ([]redcon.RESP, error) {
	var in []byte
	for _, words := range commands {
		in = redcon.AppendArray(in, len(words))
		for _, w := range words {
			in = redcon.AppendBulkString(in, w)
		}
	}
	user := s.operatorUser
	if s.Config().AdminToken == "" && from != FromSettings {
		user = s.env.Users.Default()
	}
	out, err := s.env.Do(ctx, conn.Caller{User: user, Address: FromPage + from, Expect: expect}, in)
	if err != nil {
		return nil, err
	}
	var replies []redcon.RESP
	for len(out) > 0 {
		n, reply := redcon.ReadNextRESP(out)
		if reply.Type == redcon.Error && err == nil {
			err = ErrReply(reply.String())
		}
		replies, out = append(replies, reply), out[max(n, 1):]
	}
	return replies, err
}

// FitTransaction returns how many of some commands fit one transaction; at least one, which alone may be too large.
func FitTransaction(cfg *config.Config, commands [][]string) (n int) {
	for rest := cfg.QueryBufferBytes; n < min(len(commands), conn.MaxQueuedCommands); n++ {
		for _, word := range commands[n] {
			rest -= len(word) + conn.QueuedWordBytes
		}
		if rest < 0 {
			break
		}
	}
	return max(n, 1)
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
