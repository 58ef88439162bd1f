package server

import (
	"bytes"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/config"
	"github.com/stintdb/stint/server/metrics"
	"github.com/stintdb/stint/server/resp"
	"github.com/stintdb/stint/server/top"
)

// workspace is the scratch of one feed: operations on their way to the decider and replies on their way out.
type workspace struct {
	out     resp.Writer
	request command.Request
	batch   engine.Batch
	replies []reply
	exec    bool // the replies are those of one EXEC

	tally   metrics.Tally // of this turn
	sampler top.Sampler   // of denials
	started int64         // clock: when a batch that the decider has not finished arrived
	first   []byte        // the first command of this turn, as it came
	kept    keptKeys      // of such a batch

	policyKey []byte // scratch
}

// reply is the answer to one command, still to be written.
type reply struct {
	row   *command.Row
	first int // of its operations in the batch
	count int
	hold  bool
	quiet bool     // to be dropped: CLIENT REPLY
	slot  uint16   // of its first key, where clients are redirected
	err   error    // in place of an answer
	args  [][]byte // of a command without operations, inside EXEC
}

// add parses a limiter command into the batch; an error becomes its reply.
func (ws *workspace) add(s *session, row *command.Row, args [][]byte, err error, quiet bool) {
	first := len(ws.batch.Ops)
	r := &ws.request
	r.Args, r.Ops, r.Hold = args, ws.batch.Ops, false
	if err == nil {
		err = row.Parse(r)
	}
	if err == nil && !s.user.IsUnlimited() {
		err = s.permitKeys(r.Ops[first:])
	}
	if err != nil {
		r.Ops, r.Hold = r.Ops[:first], false
	}
	if r.Hold {
		op := &r.Ops[first]
		op.Key = bytes.Clone(op.Key)         // outlives the input
		r.Hold = op.Options&engine.Peek == 0 // a peek tells how long the reply would be held
	}
	ws.batch.Ops = r.Ops
	ws.replies = append(ws.replies, reply{row: row, first: first, count: len(r.Ops) - first, hold: r.Hold, quiet: quiet, err: err})
}

func (ws *workspace) clear() {
	if ws.exec {
		clear(ws.replies) // they hold copies of arguments
	}
	ws.replies, ws.exec = ws.replies[:0], false
	ws.batch.Ops, ws.batch.Results = ws.batch.Ops[:0], ws.batch.Results[:0]
	ws.batch.Atomic = false
	ws.kept.inUse = false
	ws.request.Reset()
}

func bounds(cfg *config.Config) command.Bounds {
	return command.Bounds{MaxKeyBytes: cfg.MaxKeyBytes, MaxLogLimit: cfg.MaxSlidingLog}
}
