package conn

import (
	"github.com/stintdb/stint/internal/unauthenticated"
	"github.com/stintdb/stint/server/acl"
)

// BeginTurn waits until the owner of a session without an event loop may work: by TLS or HTTP, each connection has a goroutine, and so many would hold up
// the event loops. A turn waits for nobody, neither for a decision nor for a client.
func (e *Env) BeginTurn(user *acl.User, address string) {
	if !e.turns.TryBegin() {
		e.turns.Begin(ownerName(user, unauthenticated.Network(address)))
	}
}

// EndTurn ends a turn that [Env.BeginTurn] began.
func (e *Env) EndTurn() { e.turns.End() }
