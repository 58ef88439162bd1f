// Package keywait has the commands that wait for a key to get an element, such as BLPOP, or for a place among its
// leases, such as CC.ACQUIRE with BLOCK.
//
// A client joins the lines of its keys before the first attempt, so that no change is missed. It tries to take
// something from a key only while it is the first in the line of that key. An attempt is an operation like any other.
// If it finds nothing, its reply is null, or it is denied.
package keywait

import (
	"bytes"
	"math"
	"slices"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/database"
	"github.com/stintdb/stint/server/blocking"
	"github.com/stintdb/stint/server/clock"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/localstore"
	"github.com/stintdb/stint/server/waitqueue"
)

// Env is what the waits of all connections share.
type Env struct {
	Blocked *blocking.Keys
	Queue   *waitqueue.Queue
	Clock   *clock.Clock
	Keys    localstore.Store
}

// look returns the kind of a value in this node's state, by the name of its key. known is false if the key's group has
// no replica here.
func (e *Env) look(name []byte) (kind engine.Kind, known bool) {
	op, res := engine.Op{Verb: engine.Look, Key: name}, engine.Result{}
	if known = e.try(&op, &res); !known || res.Status != engine.OK {
		return engine.NoKind, known
	}
	return engine.KindOf(res.Held.Algorithm), true
}

// try carries out an operation that only reads on this node's state. known is false as it is for look.
func (e *Env) try(op *engine.Op, res *engine.Result) (known bool) {
	return e.Keys.TryReadOnly(e.Clock.Now(), op, res)
}

// Wait is a command that waits for keys, its attempts under way included.
type Wait struct {
	Row    *command.Row
	Args   [][]byte // as the client sent them
	Memory int      // of Args, in bytes
	Quiet  bool     // its reply is to be dropped

	env  *Env
	asks command.Wait
	// In the keyspace (see package database), of the keys waited for.
	names  [][]byte
	op     engine.Op // the last attempt of a command that only reads
	missed []byte    // see [command.Wait.Attempt]
	waiter *blocking.Waiter
	due    *waitqueue.Waiter
	asked  []string // the names in the attempt under way
	tries  int      // attempts in a row that found nothing although this node's state had something

	deadline int64      // by the clock
	place    *placeWait // nil for a wait for elements
}

// Begin puts the client of a command into the lines of its keys in the database of a number, at a time by the clock.
// Wake is called when there is something to do; alone tells whether no other client is woken with it. The result is nil
// if the client would be in too many lines. The Wait keeps the arguments.
func (e *Env) Begin(w Wait, asks *command.Wait, number uint8, now int64, wake func(alone bool)) *Wait {
	w.env, w.asks, w.names = e, *asks, namesOf(w.Args[asks.From:asks.From+asks.Keys], number)
	line := blocking.ToTake
	if asks.Attempt != nil {
		line = blocking.ToRead
	}
	return w.begin(line, now, wake)
}

// begin puts the client into its lines.
func (w Wait) begin(line blocking.Line, now int64, wake func(alone bool)) *Wait {
	if w.waiter = w.env.Blocked.Add(now, w.names, line, wake); w.waiter == nil {
		return nil
	}
	w.deadline = math.MaxInt64
	if w.asks.Timeout > 0 && w.asks.Timeout < math.MaxInt64-now {
		w.deadline = now + w.asks.Timeout
	}
	waiter := w.waiter
	w.due = w.env.Queue.After(w.deadline, func() { waiter.Finish(blocking.TimedOut) })
	return &w
}

// namesOf returns the names of keys in the keyspace.
func namesOf(keys [][]byte, number uint8) [][]byte {
	names := make([][]byte, len(keys))
	for i, key := range keys {
		if names[i] = key; number != 0 || database.IsMarked(key) {
			names[i] = database.Append(nil, number, key)
		}
	}
	return names
}

// Waiter is the client's place in the lines.
func (w *Wait) Waiter() *blocking.Waiter { return w.waiter }

// First prepares the first attempt: it asks the keys for which the client is the first in line. It reports whether
// there are any, and whether the command is an error because of the kind of another key: then it has to name all its
// keys.
func (w *Wait) First() (isAny, isError bool) {
	w.asked = w.waiter.Turns()
	if w.place != nil {
		w.place.look(w)
		return true, false
	}
	asked := w.asked
	for _, name := range w.names {
		if len(asked) > 0 && asked[0] == string(name) {
			asked = asked[1:]
		} else if kind, _ := w.env.look(name); kind != engine.NoKind && kind != w.asks.Kind {
			return true, true
		}
	}
	return len(w.asked) > 0, false
}

// Restrict makes an operation name only the keys that are asked, unless it also names keys that are not waited for, and
// say for how long its client waits. A command that only reads names all its keys in each attempt.
func (w *Wait) Restrict(op *engine.Op, now int64) {
	if w.place != nil {
		w.place.restrict(op, w.deadline-now)
		return
	}
	if w.asks.Attempt != nil {
		op.Args = w.asks.Attempt(w.Args, w.missed)
		w.op = *op
		return
	}
	args := slices.Clone(w.Args)
	if len(w.asked) < len(w.names) && int(op.KeyCount) == len(w.names) {
		for i, name := range w.asked {
			args[1+i] = database.KeyOf([]byte(name))
		}
		args = slices.Delete(args, 1+len(w.asked), 1+len(w.names))
		op.KeyCount = uint32(len(w.asked))
	}
	args[len(args)-1] = w.waiter.Claim(now, w.asked...)
	op.Args = args
}

// IsOver reports whether the results of an attempt end the wait. isDecided is false if they are no decision.
func (w *Wait) IsOver(results []engine.Result, isDecided bool) bool {
	switch {
	case len(results) == 0:
		return !isDecided // no attempt has been made, unless there was an error before it
	case w.place == nil:
		return !isDecided || !isNull(&results[0])
	case isDecided:
		return !w.place.isDenied(&results[0])
	}
	return !w.place.isLost(&results[0])
}

// isNull reports whether a command found nothing to take.
func isNull(res *engine.Result) bool {
	return res.Status == engine.OK && (bytes.HasPrefix(res.Reply, nullArray) || bytes.Equal(res.Reply, nullBulk))
}

var nullArray, nullBulk = []byte("*-1\r\n"), []byte("$-1\r\n")

// The time between two attempts while this node's state has an element and the leader's has none, which lasts a moment
// only.
const (
	firstRetry = int64(1e6)
	lastRetry  = int64(100e6)
)

// Miss is called after an attempt that found nothing. The state of this node may have been ahead of the leader's, and
// had the change already when the client began to wait, so the keys are asked again.
func (w *Wait) Miss(results []engine.Result) {
	asked := w.asked
	if w.asks.Attempt != nil {
		w.missed = bytes.Clone(results[0].Reply)
	}
	if w.place != nil {
		w.place.lacks = w.place.lacks || !w.place.renews
	}
	again := func() { w.waiter.Again(asked...) }
	if w.tries == 0 {
		again()
		return
	}
	w.env.Queue.Call(w.env.Clock.Now()+min(firstRetry<<min(w.tries, 30), lastRetry), again)
}

// Next says how the wait goes on after a wake-up: it has ended, there is a key to ask now, or the client waits on.
func (w *Wait) Next() (end blocking.End, attempts bool) {
	for {
		name, restate, end, ok := w.waiter.Next()
		if w.place != nil && w.place.renews && end == blocking.Waiting {
			w.place.renews = false
			return blocking.Waiting, true
		}
		switch {
		case end != blocking.Waiting:
			return end, false
		case !ok:
			return blocking.Waiting, false
		case w.place != nil && w.place.mayEnter(w), w.place == nil && (restate || w.mayTake(name)):
			w.asked = []string{name}
			w.tries++
			return blocking.Waiting, true
		}
		w.tries = 0
	}
}

// mayTake reports whether a key has an element, or this node cannot see whether it has: then the leader is asked from
// time to time.
func (w *Wait) mayTake(name string) bool {
	kind, known := w.env.look([]byte(name))
	if w.asks.Attempt == nil || !known || kind != w.asks.Kind {
		return !known || kind == w.asks.Kind
	}
	var res engine.Result
	w.op.Args = w.asks.Attempt(w.Args, w.missed)
	return !w.env.try(&w.op, &res) || !isNull(&res)
}

// Cancel ends the wait for the timeout. The client is still in the lines.
func (w *Wait) Cancel() {
	w.env.Queue.Cancel(w.due)
	if w.place != nil {
		w.place.cancel(w)
	}
}

// Leave takes the client out of the lines. Clients after it have their turn.
func (w *Wait) Leave() { w.waiter.Leave() }

// Lines is the number of lines that the client is in.
func (w *Wait) Lines() int { return w.waiter.Len() }

// Bytes is the memory of the wait, with the arguments of its command.
func (w *Wait) Bytes() int { return w.Memory + w.waiter.Bytes() }
