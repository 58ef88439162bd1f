package gateway

import (
	"context"
	"errors"

	"github.com/tidwall/redcon"

	"github.com/stintdb/stint/server/command"
	_ "github.com/stintdb/stint/server/command/all" // the table
	"github.com/stintdb/stint/server/conn"
)

// Caller is the client of a request.
type Caller = conn.Caller

// errReply is a defect of this server.
var errReply = errors.New("gateway: a reply is not RESP2")

// Do executes one command, and returns its reply in RESP2; of an error reply, Type is [redcon.Error]. The error is that
// of ctx, or of a command without a reply or with one that is too long. When ctx ends, a reply that was to wait is
// given up and its tokens are refunded.
func (g *Gateway) Do(ctx context.Context, caller Caller, words *command.Words) (redcon.RESP, error) {
	if err := check(words); err != nil {
		return redcon.RESP{Type: redcon.Error, Data: []byte(err.Error())}, nil
	}
	list := words.List()
	out, err := g.env.Do(ctx, caller, appendCommand(make([]byte, 0, sizeOf(list)), list))
	if err != nil {
		return redcon.RESP{}, err
	}
	n, reply := redcon.ReadNextRESP(out)
	if n == 0 {
		return redcon.RESP{}, errReply
	}
	return reply, nil
}

// DoAll executes commands as a connection that sends them at once, MULTI and EXEC among them. It returns a reply for
// each.
func (g *Gateway) DoAll(ctx context.Context, caller Caller, commands ...command.Words) ([]redcon.RESP, error) {
	size := 0
	for i := range commands {
		size += sizeOf(commands[i].List())
	}
	in := make([]byte, 0, size)
	replies := make([]redcon.RESP, 0, len(commands))
	for i := range commands {
		if err := check(&commands[i]); err != nil {
			return append(replies, redcon.RESP{Type: redcon.Error, Data: []byte(err.Error())})[:1], nil
		}
		in = appendCommand(in, commands[i].List())
	}
	out, err := g.env.Do(ctx, caller, in)
	if err != nil {
		return nil, err
	}
	g.InTurn(caller, func() {
		for len(out) > 0 {
			n, reply := redcon.ReadNextRESP(out)
			if n == 0 {
				replies, err = nil, errReply
				return
			}
			replies, out = append(replies, reply), out[n:]
		}
	})
	return replies, err
}

// framing is about the room that RESP takes beside each word.
const framing = 16

// sizeOf is about the length of a command in RESP.
func sizeOf(words [][]byte) int {
	size := framing
	for _, w := range words {
		size += framing + len(w)
	}
	return size
}

func appendCommand(b []byte, words [][]byte) []byte {
	b = redcon.AppendArray(b, len(words))
	for _, w := range words {
		b = redcon.AppendBulk(b, w)
	}
	return b
}

// check returns the error of a command that was not made rightly, or makes no sense without a connection in RESP.
func check(w *command.Words) error {
	words := w.List()
	if err := w.Err(); err != nil {
		return command.ErrRequest.With(err)
	}
	if len(words) == 0 {
		return command.ErrNoCommand
	}
	if row, err := command.Find(words); err == nil && row.NeedsConnection() {
		return command.ErrNeedsConnection.With(row.FullName)
	}
	return nil
}
