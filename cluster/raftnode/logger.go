package raftnode

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/hashicorp/go-hclog"

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

// Error implements hclog.Logger. Errors about a peer repeat several times a second for as long as the peer is gone.
func (l raftLogger) Error(message string, args ...any) {
	if len(args) > 1 && (args[0] == "peer" || args[0] == "target") {
		l.to.Once(fmt.Sprint(message, args[1]), "raft: "+message, args...)
		return
	}
	l.write(slog.LevelInfo, message, args)
}

// Named implements hclog.Logger.
func (l raftLogger) Named(string) hclog.Logger { return l }

// With implements hclog.Logger.
func (l raftLogger) With(args ...any) hclog.Logger { return newRaftLogger(l.to.With(args...)) }
