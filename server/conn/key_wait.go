package conn

import (
	"bytes"
	"math"
	"slices"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/database"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/server/blocking"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/waitqueue"
)

// keyWait is a command that waits for a key to get an element. Its client joins the lines of its keys before the first attempt, so that no
// change is missed. It tries to take an element of a key only while it is the first in the line of that key. An attempt is an operation like any
// other, whose reply is null if there is no element.
type keyWait struct {
	row    *command.Row
	kind   limits.Algorithm // of the values waited for
	args   [][]byte         // as the client sent them
	names  [][]byte         // in the keyspace (see package database), of the keys waited for, which follow the command's name
	quiet  bool
	waiter *blocking.Waiter
	due    *waitqueue.Waiter
	asked  []string // the names in the attempt under way
	tries  int      // attempts in a row that found nothing although this node's state had something
}

// itemsOfKey is how many items of a log can be written in the time in which a client leaves the line of one key.
const itemsOfKey = 2

// keyWaiter has the methods of a session that waits for keys.
type keyWaiter struct{ *Session }

// begin puts the client of the command parsed last into the lines of its keys. The first attempt is about the keys for which the client is
// the first in line.
func (s keyWaiter) begin(batch *commandBatch, row *command.Row, args [][]byte) {
	r, wait := &batch.replies[len(batch.replies)-1], batch.request.Wait
	if r.err != nil {
		batch.request.Wait = nil
		return
	}
	k := &keyWait{row: row, kind: wait.Kind, args: copyOf(args), quiet: r.quiet}
	k.names = make([][]byte, wait.Keys)
	for i, key := range k.args[1 : 1+wait.Keys] {
		if k.names[i] = key; s.client.Database != 0 || database.IsMarked(key) {
			k.names[i] = database.Append(nil, s.client.Database, key)
		}
	}
	k.waiter = s.env.Blocked.Add(s.started, k.names, func(alone bool) {
		s.wait.happen(ForKey)
		if alone {
			s.wake()
		} else {
			s.fanout.Call(itemsOfKey * wait.Keys)
		}
	})
	if k.waiter == nil {
		r.err, batch.request.Wait = command.ErrManyWaits.With(blocking.MaxTurns), nil
		batch.decision.Ops, r.count = batch.decision.Ops[:r.first], 0
		return
	}
	due := int64(math.MaxInt64)
	if wait.Timeout > 0 && wait.Timeout < math.MaxInt64-s.started {
		due = s.started + wait.Timeout
	}
	k.due = s.env.WaitQueue.After(due, func() { k.waiter.Finish(blocking.TimedOut) })
	s.keyWait = k
	s.share.charge(command.WaitWork(wait.Keys))
	s.blockedOn.Store(k.waiter)
	r.keyWait = k
	k.asked = k.waiter.Turns()
	asked := k.asked
	for _, name := range k.names {
		if len(asked) > 0 && asked[0] == string(name) {
			asked = asked[1:]
		} else if s.holdsOther(k, name) {
			return // about all keys: the error comes from the command
		}
	}
	if len(k.asked) == 0 {
		batch.decision.Ops, r.count = batch.decision.Ops[:r.first], 0
		return
	}
	k.restrict(&batch.decision.Ops[r.first], s.started)
}

// restrict makes an operation name only the keys that are asked, unless it also names keys that are not waited for, and say for how long its client waits.
func (k *keyWait) restrict(op *engine.Op, now int64) {
	args := slices.Clone(k.args)
	if len(k.asked) < len(k.names) && int(op.KeyCount) == len(k.names) {
		for i, name := range k.asked {
			args[1+i] = database.KeyOf([]byte(name))
		}
		args = slices.Delete(args, 1+len(k.asked), 1+len(k.names))
		op.KeyCount = uint32(len(k.asked))
	}
	args[len(args)-1] = k.waiter.Claim(now, k.asked...)
	op.Args = args
}

// look returns the kind of a value in this node's state, by the name of its key; known is false if the key's group has no replica here.
func (s keyWaiter) look(name []byte) (kind limits.Algorithm, known bool) {
	op, res := engine.Op{Verb: engine.Look, Key: name}, engine.Result{}
	if known = s.env.Keys.TryReadOnly(s.env.Clock.Now(), &op, &res); !known || res.Status != engine.OK {
		return limits.NoAlgorithm, known
	}
	return res.Held.Algorithm, true
}

// mayTake reports whether a key has an element, or this node cannot see whether it has: then the leader is asked from time to time.
func (s keyWaiter) mayTake(k *keyWait, name string) bool {
	kind, known := s.look([]byte(name))
	return !known || kind == k.kind
}

// holdsOther reports whether the command is an error because of the kind of a key.
func (s keyWaiter) holdsOther(k *keyWait, name []byte) bool {
	kind, _ := s.look(name)
	return kind != limits.NoAlgorithm && kind != k.kind
}

// answer handles the outcome of an attempt. It reports false if there is something to be answered.
func (s keyWaiter) answer(r *reply, results []engine.Result, err error) (waits bool) {
	k := r.keyWait
	if err != nil || len(results) > 0 && !isNull(&results[0]) {
		s.leave()
		return false
	}
	// The state of this node may have been ahead of the leader's, and had the change already when the client began to wait.
	asked := k.asked
	again := func() { k.waiter.Again(asked...) }
	if k.tries == 0 {
		again()
	} else {
		s.env.WaitQueue.After(s.env.Clock.Now()+min(firstRetry<<min(k.tries, 30), lastRetry), again)
	}
	s.wait.begin(ForKey)
	s.wait.happen(ForKey)
	s.wake()
	return true
}

// isNull reports whether a command found nothing to take.
func isNull(res *engine.Result) bool {
	return res.Status == engine.OK && (bytes.Equal(res.Reply, nullArray) || bytes.Equal(res.Reply, nullBulk))
}

var nullArray, nullBulk = []byte("*-1\r\n"), []byte("$-1\r\n")

// The time between two attempts while this node's state has an element and the leader's has none, which lasts a moment only.
const (
	firstRetry = int64(1e6)
	lastRetry  = int64(100e6)
)

// goOn goes on with the wait after a wake-up: it ends it, attempts to take from a key that has something now, or waits on.
func (s keyWaiter) goOn(out *commandBatch) {
	k := s.keyWait
	s.wait.end(ForKey)
	for {
		name, restate, end, ok := k.waiter.Next()
		switch {
		case end != blocking.Waiting:
			s.end(end, out)
			return
		case !ok:
			s.wait.begin(ForKey)
			return
		case restate || s.mayTake(k, name):
			k.asked = []string{name}
			k.tries++
			s.attempt(k, out)
			return
		}
		k.tries = 0
	}
}

// attempt carries out the command on the keys that are asked, and writes the reply to out if there is one already.
func (s keyWaiter) attempt(k *keyWait, out *commandBatch) {
	batch := s.env.getBatch()
	batch.out.Buf, out.out.Buf = out.out.Buf, batch.out.Buf
	batch.out.RESP3 = out.out.RESP3
	batch.request.SetBounds(Bounds(s.env.config()))
	batch.request.Database = s.client.Database
	batch.add(s.Session, k.row, k.args, nil, k.quiet)
	r := &batch.replies[0]
	r.keyWait = k
	if r.err == nil {
		k.restrict(&batch.decision.Ops[0], s.env.Clock.Now())
	}
	s.flush(batch)
	batch.out.Buf, out.out.Buf = out.out.Buf, batch.out.Buf
	s.env.putUnlessDeciding(s.Session, batch)
}

// end answers a client whose wait has ended with nothing.
func (s keyWaiter) end(end blocking.End, out *commandBatch) {
	k := s.keyWait
	s.leave()
	s.limiterReplied = true // nothing more is due to the client
	out.tally.Command(k.row.Number, end == blocking.Unblocked)
	switch {
	case k.quiet:
	case end == blocking.Unblocked:
		out.out.Error(command.ErrUnblocked.Error())
	default:
		out.out.NullArray()
	}
}

// leave takes the session out of the lines of the keys that it waits for. Clients after it have their turn.
func (s keyWaiter) leave() {
	if k := s.endWait(); k != nil {
		k.waiter.Leave()
	}
}

// leaveHere is the number of lines that a closing connection leaves on its event loop: many connections may close at once. More lines are left
// on another goroutine.
const leaveHere = 16

// hangUp is leave for a connection that closes.
func (s keyWaiter) hangUp() {
	switch k := s.endWait(); {
	case k == nil:
	case k.waiter.Len() > leaveHere:
		s.env.cleanup.run(k.waiter.Leave)
	default:
		k.waiter.Leave()
	}
}

// endWait ends the session's wait, and returns it while it is still in the lines.
func (s keyWaiter) endWait() *keyWait {
	k := s.keyWait
	if k != nil {
		s.keyWait = nil
		s.blockedOn.Store(nil)
		s.env.WaitQueue.Cancel(k.due)
	}
	return k
}

// Unblock implements [command.Session].
func (s commandSession) Unblock(id int64, withError bool) bool {
	r := &s.env.Registry
	r.mu.Lock()
	c := r.byID[id]
	r.mu.Unlock()
	if c == nil {
		return false
	}
	waiter, end := c.blockedOn.Load(), blocking.TimedOut
	if withError {
		end = blocking.Unblocked
	}
	return waiter != nil && waiter.Finish(end)
}

// bytes is the memory of the wait.
func (k *keyWait) bytes() int { return queuedBytes(k.args) + k.waiter.Bytes() }
