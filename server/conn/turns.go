package conn

import (
	"time"

	"github.com/stintdb/stint/internal/unauthenticated"
	"github.com/stintdb/stint/server/acl"
	"github.com/stintdb/stint/server/conn/share"
	"github.com/stintdb/stint/server/conn/wait"
)

// BeginTurn waits until the owner of a session without an event loop may work: by TLS or HTTP, each connection has a
// goroutine, and so many would hold up the event loops. A turn waits for nobody, neither for a decision nor for a
// client.
func (e *Env) BeginTurn(user *acl.User, address string) {
	if !e.turns.TryBegin() {
		e.turns.Begin(share.Owner(user, unauthenticated.Network(address)))
	}
}

// EndTurn ends a turn that [Env.BeginTurn] began.
func (e *Env) EndTurn() { e.turns.End() }

// JoinLoop adds the session to those of an event loop with passes. turn gives it a turn without input.
func (s *Session) JoinLoop(p *share.Passes, turn func()) { p.Join(&s.turn, turn) }

// SendsMore is called after bytes were sent that the kernel had not taken at once. It reports whether more may be sent
// in this pass.
func (s *Session) SendsMore(sent int) bool { return s.turn.SendsMore(sent) }

// goOnLater lets the session go on with its input after others have had their turn, or after a pause if it publishes
// too quickly.
func (s *Session) goOnLater() {
	goOn := func() {
		s.public.Wait.Happen(wait.ForTurn)
		s.public.Wake()
	}
	switch {
	case s.subscriptions.outruns():
		time.AfterFunc(publisherPause, goOn)
	case s.turn.HasLoop():
		s.turn.WaitForPass()
	case s.runLater == nil:
		goOn()
	default:
		s.runLater(goOn)
	}
}
