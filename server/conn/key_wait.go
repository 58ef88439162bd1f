package conn

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/server/blocking"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/conn/keywait"
	"github.com/stintdb/stint/server/conn/wait"
)

// itemsOfKey is how many items of a log can be written in the time in which a client leaves the line of one key.
const itemsOfKey = 2

// beginKeyWait puts the client of the command parsed last into the lines of its keys. The first attempt is about the
// keys for which the client is the first in line. A holder renews its lease whoever waits.
func (s *Session) beginKeyWait(batch *commandBatch, row *command.Row, args [][]byte) {
	r, asks := &batch.replies[len(batch.replies)-1], batch.request.Wait
	var lease *engine.Op
	part := 0
	if r.err == nil && asks.Place {
		lease, part = s.env.keyWaits.Lease(&batch.decision.Ops[r.first])
	}
	if r.err != nil || asks.Place && lease == nil { // a policy may have no leases
		batch.request.Wait = nil
		return
	}
	w := keywait.Wait{Row: row, Args: copyOf(args), Memory: queuedBytes(args), Quiet: r.quiet}
	wake := func(alone bool) {
		s.public.Wait.Happen(wait.ForKey)
		if alone {
			s.public.Wake()
		} else {
			s.public.Fanout.Call(itemsOfKey * asks.Keys)
		}
	}
	var k *keywait.Wait
	if asks.Place {
		k = s.env.keyWaits.BeginPlace(w, asks, &batch.decision.Ops[r.first], lease, part, s.started, wake)
	} else {
		k = s.env.keyWaits.Begin(w, asks, s.client.Database, s.started, wake)
	}
	if k == nil {
		r.err, batch.request.Wait = command.ErrManyWaits.With(blocking.MaxTurns), nil
		batch.decision.Ops, r.count = batch.decision.Ops[:r.first], 0
		return
	}
	s.keyWait = k
	s.turn.Charge(command.WaitWork(asks.Keys))
	s.public.BlockedOn.Store(k.Waiter())
	r.keyWait = k
	switch isAny, isError := k.First(); {
	case isError: // which comes from the command, about all keys
	case isAny:
		k.Restrict(&batch.decision.Ops[r.first], s.started)
	default:
		batch.decision.Ops, r.count = batch.decision.Ops[:r.first], 0
	}
}

// answerKeyWait handles the outcome of an attempt. It reports false if there is something to be answered.
func (s *Session) answerKeyWait(r *reply, results []engine.Result, err error) (waits bool) {
	if s.keyWait == nil || r.keyWait.IsOver(results, err == nil) { // nil after the last attempt
		s.endKeyWait(true)
		return false
	}
	r.keyWait.Miss(results)
	s.public.Wait.Begin(wait.ForKey)
	s.public.Wait.Happen(wait.ForKey)
	s.public.Wake()
	return true
}

// resumeKeyWait goes on with the wait after a wake-up: it ends it, attempts to take from a key that has something now,
// or waits on.
func (s *Session) resumeKeyWait(out *commandBatch) {
	s.public.Wait.End(wait.ForKey)
	k := s.keyWait
	switch end, attempts := k.Next(); {
	case attempts:
		s.attemptKeys(k, out)
	case end == blocking.Waiting:
		s.public.Wait.Begin(wait.ForKey)
	case end == blocking.TimedOut && k.IsForPlace(): // the reply is that of the command without BLOCK
		s.endKeyWait(true)
		s.attemptKeys(k, out)
	default:
		s.endKeyWait(true)
		s.limiterReplied = true // nothing more is due to the client
		out.tally.Command(k.Row.Number, end == blocking.Unblocked)
		switch {
		case k.Quiet:
		case end == blocking.Unblocked:
			out.out.Error(command.ErrUnblocked.Error())
		default:
			out.out.NullArray()
		}
	}
}

// attemptKeys carries out the command on the keys that are asked, and writes the reply to out if there is one already.
// After the end of the wait, it is the last attempt.
func (s *Session) attemptKeys(k *keywait.Wait, out *commandBatch) {
	batch := s.env.getBatch()
	batch.out.Buf, out.out.Buf = out.out.Buf, batch.out.Buf
	batch.out.RESP3 = out.out.RESP3
	batch.request.SetBounds(Bounds(s.env.config()))
	batch.request.Database = s.client.Database
	batch.add(s, k.Row, k.Args, nil, k.Quiet)
	r := &batch.replies[0]
	r.keyWait = k
	switch {
	case r.err != nil:
	case s.keyWait == nil:
		k.Last(&batch.decision.Ops[0])
	default:
		k.Restrict(&batch.decision.Ops[0], s.env.Clock.Now())
	}
	s.flush(batch)
	batch.out.Buf, out.out.Buf = out.out.Buf, batch.out.Buf
	s.env.putUnlessDeciding(s, batch)
}

// leaveHere is the number of lines that a closing connection leaves on its event loop: many connections may close at
// once. More lines are left on another goroutine.
const leaveHere = 16

// endKeyWait ends the wait for keys, if there is one. The client leaves the lines at once, or soon if it is in many.
func (s *Session) endKeyWait(now bool) {
	k := s.keyWait
	if k == nil {
		return
	}
	s.keyWait = nil
	s.public.BlockedOn.Store(nil)
	k.Cancel()
	if !now && k.Lines() > leaveHere {
		s.env.cleanup.run(k.Leave)
		return
	}
	k.Leave()
}

// Unblock implements [command.Session].
func (s commandSession) Unblock(id int64, withError bool) bool {
	return s.env.Registry.Unblock(id, withError)
}
