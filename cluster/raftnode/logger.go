package raftnode

import (
	"context"
	"fmt"
	"log/slog"
	"slices"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/oncelog"
)

// raftLogger passes Raft's messages on, one level lower: most of its warnings are a normal part of elections.
type raftLogger struct {
	hclog.Logger // discards everything that is not overridden here
	to           *oncelog.Log
}

func newRaftLogger(to *slog.Logger) hclog.Logger {
	return raftLogger{hclog.NewNullLogger(), oncelog.New(to)}
}

func (l raftLogger) write(level slog.Level, message string, args []any) {
	l.to.Log(context.Background(), level, "raft: "+message, args...)
}

// Info implements hclog.Logger.
func (l raftLogger) Info(message string, args ...any) { l.write(slog.LevelDebug, message, args) }

// Warn implements hclog.Logger.
func (l raftLogger) Warn(message string, args ...any) { l.write(slog.LevelDebug, message, args) }

// Error implements hclog.Logger. While a peer is gone, Raft reports an error several times a second; one line a minute
// is enough. An entry that is not found in the log needs no action: the follower gets a snapshot instead.
func (l raftLogger) Error(message string, args ...any) {
	aboutPeer := len(args) > 1 && (args[0] == "peer" || args[0] == "target")
	switch {
	case aboutPeer && slices.Contains(unreachable, message):
		l.to.Once("peer "+peerOf(args[1]), "raft: cannot reach a node; it catches up once it is back", args...)
		return
	case aboutPeer && message != "peer has newer term, stopping replication": // which is a part of elections
		l.to.Once(fmt.Sprint(message, args[1]), "raft: "+message, args...)
		return
	case aboutPeer || slices.Contains(args, any(raft.ErrLogNotFound)):
		l.write(slog.LevelDebug, message, args)
		return
	}
	l.write(slog.LevelInfo, message, args)
}

// unreachable are the messages of Raft that say the same about a peer in several ways.
var unreachable = []string{"failed to heartbeat to", "failed to appendEntries to", "failed to start pipeline replication to",
	"failed to pipeline appendEntries", "failed to make requestVote RPC"}

// peerOf is the address of a peer, which Raft's messages give in several ways.
func peerOf(arg any) string {
	switch peer := arg.(type) {
	case raft.Server:
		return string(peer.Address)
	case raft.ServerAddress:
		return string(peer)
	}
	return fmt.Sprint(arg)
}

// Named implements hclog.Logger.
func (l raftLogger) Named(string) hclog.Logger { return l }

// With implements hclog.Logger.
func (l raftLogger) With(args ...any) hclog.Logger { return newRaftLogger(l.to.With(args...)) }
