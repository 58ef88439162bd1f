package server

import "github.com/stintdb/stint/server/command"

// Membership is the server's second interface to its surroundings, beside [Decider]. Package command defines it,
// because commands use it. Only cmd/stint knows the implementation.
type Membership = command.Membership

// ErrNoLeader is what a [Membership] returns, or wraps, where clients get the code NOLEADER.
var ErrNoLeader = command.ErrNoLeader

// ErrImporting is the error of [Membership].Barrier before the cluster has the state that it begins with.
var ErrImporting = command.ErrImporting
