// Package wait keeps what a session waits for before it executes its next command.
package wait

import "sync/atomic"

// State is everything that a session waits for before it executes its next command. One goroutine at a time, the
// session's, begins and ends a wait. Any goroutine may note an event, and may look.
//
//	event        begins in                                      happens in          ends in
//	ForDecision  flush: the decider finishes later              decided             finishDecision
//	ForDueTime   block: a granted reply is due later            the wait queue      unblock, or onDisconnect
//	ForAnswer    AwaitReply: something outside answers          done                writePending
//	ForLogin     Login: after failed logins, its turn is later  the login limiter   writePending
//	ForKey       answer: no key has an element, or a place      blocking.Keys       goOn, or onDisconnect
//	ForPause     execute: CLIENT PAUSE holds the command    the end of the pause  resume
//	ForTurn      executeAll: the user has done enough work      goOnLater           receive
//	ForReader    pause: too many bytes of replies are unread    –                   unpause
//	ForClose     an error, QUIT, or a CLIENT KILL of itself     –                   never
//
// At most one of ReplyEvents is awaited at a time, because nothing is executed meanwhile. The others can come on top.
// An event may happen before its wait begins: a decider may finish before Decide has returned.
type State struct {
	awaited  atomic.Uint32 // an Event
	happened atomic.Uint32 // an Event
}

// Event is a set of events.
type Event uint32

// The events.
const (
	ForDecision Event = 1 << iota
	ForDueTime
	ForAnswer
	ForLogin
	ForKey
	ForPause
	ForTurn
	ForReader
	ForClose
	// HangUp is not waited for: it happens if the connection closes while it waits for a decision.
	HangUp
)

// ReplyEvents are the events after which the reply of an earlier command is written.
const ReplyEvents = ForDecision | BlockedEvents

// HoldsInput are the events of sessions that go on by themselves: soon, or as soon as their clients have read. Until
// then little input is taken, and not its end, after which nothing more would be executed.
const HoldsInput = ForDecision | ForPause | ForTurn | ForReader

// BlockedEvents are those of commands that wait by design: CLIENT LIST shows a client that waits as blocked.
const BlockedEvents = ForDueTime | ForAnswer | ForLogin | ForKey | ForPause

// IsOver reports whether nothing is awaited.
func (w *State) IsOver() bool { return w.awaited.Load() == 0 }

// AwaitsOnly reports whether an event is awaited, and no other.
func (w *State) AwaitsOnly(e Event) bool { return Event(w.awaited.Load()) == e }

// Has reports whether any of the events is awaited.
func (w *State) Has(e Event) bool { return Event(w.awaited.Load())&e != 0 }

// IsDue reports whether any of the events is awaited and has happened.
func (w *State) IsDue(e Event) bool {
	return Event(w.awaited.Load()&w.happened.Load())&e != 0
}

// Begin adds an event to those awaited.
func (w *State) Begin(e Event) { w.awaited.Or(uint32(e)) }

// End ends the wait for events.
func (w *State) End(e Event) {
	w.happened.And(^uint32(e))
	w.awaited.And(^uint32(e))
}

// Happen notes that an event has happened.
func (w *State) Happen(e Event) { w.happened.Or(uint32(e)) }

// HappenAfter notes that an event has happened, and reports whether another one had happened before. Where two
// goroutines note one of two events each, exactly one of them sees both.
func (w *State) HappenAfter(e, before Event) bool {
	return Event(w.happened.Or(uint32(e)))&before != 0
}
