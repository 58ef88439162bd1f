package server

import "github.com/stintdb/stint/server/command"

// Membership is the server's second interface to its surroundings, beside [Decider]. Package command defines it, because
// commands use it. Only cmd/stint knows the implementation.
type Membership = command.Membership

// A [Membership] returns ErrNoLeader and ErrUncertain, or errors that wrap them, where clients get the codes NOLEADER and
// UNCERTAIN.
var (
	ErrNoLeader  = command.ErrNoLeader
	ErrUncertain = command.ErrUncertain
)
