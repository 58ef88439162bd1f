package conn

import (
	"unsafe"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/config"
	"github.com/stintdb/stint/server/conn/access"
	"github.com/stintdb/stint/server/conn/clientcache"
	"github.com/stintdb/stint/server/conn/keywait"
	"github.com/stintdb/stint/server/conn/share"
	"github.com/stintdb/stint/server/localstore"
	"github.com/stintdb/stint/server/metrics"
	"github.com/stintdb/stint/server/resp"
	"github.com/stintdb/stint/server/topkeys"
)

// commandBatch has the commands that are executed together: operations on their way to the decider, and replies on
// their way out.
type commandBatch struct {
	out      resp.Writer
	request  command.Request
	decision engine.Batch
	replies  []reply
	exec     bool                // the replies are those of one EXEC
	tracked  bool                // some of them are
	own      clientcache.OwnKeys // of a client with NOLOOP
	quiet    bool                // whose reply is to be dropped

	publishesTo string // the channel of the last command, "" if nobody subscribes

	slot     uint16 // of its first key, where clients are redirected
	weight   int    // the most work that the batch may take, in units of engine.Result.Work
	weighed  int    // the part of weight that was computed from what the keys hold now
	declared int    // the part of weight that depends on what keys hold, and was not computed from it
	lists    bool   // some of it lists the entries of keys
	held     int    // the most bytes that the weighed part may reply with
	scripts  int    // of the weighed part

	tally      metrics.Tally   // of this turn
	sampler    topkeys.Sampler // of denials
	passes     topkeys.Sampler // of requests that were granted
	started    int64           // clock: when a batch that the decider has not finished arrived
	waits      int64           // clock: when that batch began to wait for the decider
	first      []byte          // the first command of this turn, in RESP
	copiedKeys copiedKeys      // of such a batch

	policyKey []byte // scratch
}

// reply is the answer to one command, still to be written.
type reply struct {
	row     *command.Row
	first   int // of its operations in the batch
	count   int
	keyWait *keywait.Wait // nil unless the command waits for keys
	err     error         // in place of an answer
	args    [][]byte      // of a command without operations, inside EXEC
	shape   resp.Shape
	block   bool
	quiet   bool   // to be dropped: CLIENT REPLY
	tracked bool   // a read of a client that caches what it reads
	slot    uint16 // of its first key, where clients are redirected
}

// add parses a limiter command into the batch; an error becomes its reply.
func (batch *commandBatch) add(s *Session, row *command.Row, args [][]byte, err error, quiet bool) {
	first := len(batch.decision.Ops)
	r := &batch.request
	r.Begin(args, batch.decision.Ops)
	if err == nil {
		err = row.Parse(r)
	}
	if err == nil && !s.user.IsUnlimited() {
		err = s.access().CheckKeys(r.Ops[first:])
		access.Limit(s.user, r.Ops[first:])
	}
	r.NameKeys(r.Ops[first:])
	weight := 0
	if err == nil {
		weight = row.WorkOf(r.Ops[first:])
		if weight > command.MaxExecWork && s.env.Keys.Weigh(r.Ops[first:]) > command.MaxExecWork {
			err = command.ErrTooCostly
		}
		if row.Cost != command.Light || batch.exec {
			weight = batch.weigh(s, row, r.Ops[first:], weight)
		}
		if r.Wait != nil {
			weight += command.WaitWork(r.Wait.Keys)
		}
	}
	if err != nil {
		r.Ops, r.Hold, weight = r.Ops[:first], false, 0
	}
	if r.Wait != nil && (batch.exec || err != nil) {
		r.Wait = nil
	}
	if r.Hold {
		op := &r.Ops[first]
		if r.Hold = op.Options&engine.Peek == 0; batch.exec { // a peek returns the delay, and is answered at once
			r.Hold = false
			op.SetMaxWait(engine.NoWait) // granted now or denied
		}
		if r.Hold {
			*op = op.Clone() // outlives the input
		}
	}
	batch.decision.Ops = r.Ops
	batch.weight += weight
	batch.replies = append(batch.replies, reply{row: row, first: first, count: len(r.Ops) - first, block: r.Hold,
		shape: r.Shape, quiet: quiet, err: err})
}

// weigh notes where the work of a command comes from, and returns the most work that it may take.
func (batch *commandBatch) weigh(s *Session, row *command.Row, ops []engine.Op, most int) int {
	work, needsNoLook := 0, false
	if row.Seeks && len(ops) == 1 {
		work, needsNoLook = row.WeighUnseen(ops[0].Args)
		needsNoLook = needsNoLook && !s.env.Keys.MayBeLarge(&ops[0], true)
	}
	switch {
	case batch.exec: // a transaction is weighed as a whole
		batch.declared += most
	case needsNoLook:
		batch.weighed += work
		if row.WeighsData() {
			return min(most, work)
		}
	case row.WeighsData() || row.Cost == command.KeyPass ||
		// The copy of a small value costs no more than looking its key up.
		row.Cost == command.ValueCopy && len(ops) == 1 && s.env.Keys.MayBeLarge(&ops[0], false):
		work = s.env.Keys.Weigh(ops)
		batch.weighed += work
		if row.Cost == command.ScriptRun {
			batch.scripts++
			batch.held += s.scriptReply
		} else {
			batch.held += row.ReplyBytes(work)
		}
		if row.WeighsData() {
			return min(most, work)
		}
	case row.Cost == command.HolderLookup || row.Cost == command.EntryList || row.Cost == command.LogCopy:
		batch.declared += most
		batch.lists = batch.lists || row.Cost == command.EntryList
	}
	return most
}

// isFull reports whether the batch has to be answered before another command is added. A command that may block is the
// last.
func (batch *commandBatch) isFull() bool {
	return batch.request.Hold || batch.request.Wait != nil || len(batch.decision.Ops) >= MaxBatchOps ||
		batch.weight >= command.MaxBatchWork ||
		batch.held >= outputChunk/2 || // with one reply more, results still keep their memory: see writeReplies
		batch.scripts >= maxBatchScripts || batch.scripts > 0 && batch.weighed >= loopWork/2
}

// maxBatchScripts bounds the scripts of a batch, because some may reply with far more than before: see
// [Session.scriptReply]. Together they must also stay short enough for the event loop.
const maxBatchScripts = 64

// loopWork is the work, 1 to 2 ms, beyond which a batch is decided beside the event loop. Leaving the loop costs as
// much CPU as a dozen small scripts.
const loopWork = share.PassWork

// isLong reports whether the batch is to be decided beside the event loop.
func (batch *commandBatch) isLong(keys localstore.Requests) bool {
	if batch.weighed < loopWork && batch.declared < command.MaxBatchWork {
		return false
	}
	if batch.weighed >= loopWork {
		return true
	}
	work := keys.Weigh(batch.decision.Ops)
	if batch.lists {
		work *= entryWork
	}
	return work >= loopWork
}

// entryWork is the work of listing an entry of a key; looking at the entry alone is a work of 1.
const entryWork = 20

func (batch *commandBatch) clear() {
	if batch.exec || batch.request.Wait != nil {
		clear(batch.replies) // they hold copies of arguments
	}
	batch.replies, batch.exec, batch.quiet, batch.lists = batch.replies[:0], false, false, false
	batch.weight, batch.weighed, batch.declared, batch.held, batch.scripts = 0, 0, 0, 0, 0
	batch.decision.Ops, batch.decision.Results = batch.decision.Ops[:0], batch.decision.Results[:0]
	batch.decision.Atomic, batch.decision.InOrder, batch.tracked = false, false, false
	batch.copiedKeys.inUse = false
	batch.request.Reset()
}

// memory is the memory of a batch that the decider has not finished, in bytes.
func (batch *commandBatch) memory() int {
	ops, replies := len(batch.decision.Ops), len(batch.replies)
	return ops*int(unsafe.Sizeof(engine.Op{})+unsafe.Sizeof(engine.Result{})) + replies*int(unsafe.Sizeof(reply{})) +
		len(batch.copiedKeys.bytes) + len(batch.copiedKeys.command) + batch.request.Bytes()
}

// Bounds are the bounds that the settings put on arguments of commands.
func Bounds(cfg *config.Config) command.Bounds {
	return command.Bounds{MaxKeyBytes: cfg.MaxKeyBytes, MaxLogLimit: cfg.MaxSlidingLog,
		Databases: cfg.DatabaseCount(), Groups: cfg.Groups, Shared: &cfg.ClusterShared}
}

// The most room a batch keeps for its next use.
const (
	maxKeptOutput = 2 * outputChunk
	maxKeptOps    = 4 * MaxBatchOps
)

func (e *Env) getBatch() *commandBatch { return e.batches.Get().(*commandBatch) }

func (e *Env) putBatch(batch *commandBatch) {
	if max(cap(batch.decision.Ops), cap(batch.replies)) > maxKeptOps {
		return // one transaction, or one DEL of very many keys, made it far larger than the next will need
	}
	if cap(batch.out.Buf) > maxKeptOutput {
		batch.out.Buf = nil
	}
	batch.out.Buf = batch.out.Buf[:0]
	e.batches.Put(batch)
}

// putUnlessDeciding is putBatch for a session's batch, unless it is still being decided.
func (e *Env) putUnlessDeciding(of *Session, batch *commandBatch) {
	if of.deciding != batch {
		e.putBatch(batch)
	}
}

// count counts the bytes that a batch is about to send.
func (e *Env) count(batch *commandBatch) { batch.tally.Bytes(0, len(batch.out.Buf)) }
