package server

import "github.com/stintdb/stint/server/command"

// The second of the server's two doors, beside [Decider], in the words of package command, whose commands look through
// it. Only cmd/stint sees what is behind it.
type (
	Membership    = command.Membership
	ClusterState  = command.ClusterState
	ClusterStatus = command.ClusterStatus
	ClusterMember = command.ClusterMember
	Latency       = command.Latency
)

// ErrNoLeader and ErrUncertain, or errors that wrap them, are what a [Membership] answers where clients are to be told so
// by their codes.
var (
	ErrNoLeader  = command.ErrNoLeader
	ErrUncertain = command.ErrUncertain
)
