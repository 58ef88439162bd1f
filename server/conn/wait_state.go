package conn

import "sync/atomic"

// waitState is everything that a session waits for before it executes its next command. One goroutine at a time, the
// session's, begins and ends a wait. Any goroutine may note that an event has happened, and may look.
//
//	event        begins in                                      happens in          ends in
//	ForDecision  flush: the decider finishes later              decided             finishDecision
//	ForDueTime   block: a granted reply is due later            the wait queue      unblock, or onDisconnect
//	ForAnswer    AwaitReply: something outside answers          done                writePending
//	ForLogin     Login: after failed logins, its turn is later  the login limiter   writePending
//	ForKey       answer: none of the keys has an element        blocking.Keys       goOn, or onDisconnect
//	ForTurn      executeAll: the user has done enough work      goOnLater           receive
//	ForReader    pause: too many bytes of replies are unread    –                   unpause
//	ForClose     an error, QUIT, or a CLIENT KILL of itself     –                   never
//
// At most one of replyEvents is awaited at a time, because nothing is executed meanwhile. The others can come on top. An
// event may happen before its wait begins: a decider may finish before Decide has returned.
type waitState struct {
	awaited  atomic.Uint32 // a WaitEvent
	happened atomic.Uint32 // a WaitEvent
}

// WaitEvent is a set of events.
type WaitEvent uint32

// The events.
const (
	ForDecision WaitEvent = 1 << iota
	ForDueTime
	ForAnswer
	ForLogin
	ForKey
	ForTurn
	ForReader
	ForClose
	// hangUp is not waited for: it happens if the connection closes while it waits for a decision.
	hangUp
)

// replyEvents are the events after which the reply of an earlier command is written.
const replyEvents = ForDecision | blockedEvents

// HoldsInput are the events of sessions that go on by themselves: soon, or as soon as their clients have read. Until then little input is taken, and not
// its end, after which nothing more would be executed.
const HoldsInput = ForDecision | ForTurn | ForReader

// blockedEvents are those of commands that wait by design: CLIENT LIST shows a client that waits as blocked.
const blockedEvents = ForDueTime | ForAnswer | ForLogin | ForKey

// isOver reports whether nothing is awaited.
func (w *waitState) isOver() bool { return w.awaited.Load() == 0 }

// waitsOnlyFor reports whether an event is awaited, and no other.
func (w *waitState) waitsOnlyFor(e WaitEvent) bool { return WaitEvent(w.awaited.Load()) == e }

// has reports whether any of the events is awaited.
func (w *waitState) has(e WaitEvent) bool { return WaitEvent(w.awaited.Load())&e != 0 }

// isDue reports whether any of the events is awaited and has happened.
func (w *waitState) isDue(e WaitEvent) bool {
	return WaitEvent(w.awaited.Load()&w.happened.Load())&e != 0
}

// begin adds an event to those awaited.
func (w *waitState) begin(e WaitEvent) { w.awaited.Or(uint32(e)) }

// end ends the wait for events.
func (w *waitState) end(e WaitEvent) {
	w.happened.And(^uint32(e))
	w.awaited.And(^uint32(e))
}

// happen notes that an event has happened.
func (w *waitState) happen(e WaitEvent) { w.happened.Or(uint32(e)) }

// happenAfter notes that an event has happened, and reports whether another one had happened before. Where two goroutines
// note one of two events each, exactly one of them sees both.
func (w *waitState) happenAfter(e, before WaitEvent) bool {
	return WaitEvent(w.happened.Or(uint32(e)))&before != 0
}
