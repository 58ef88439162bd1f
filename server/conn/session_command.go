package conn

import (
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/conn/wait"
)

// The rest of [command.Session]: properties of the connection that its commands read and change.

// ID implements [command.Session].
func (s commandSession) ID() int64 { return s.public.ID() }

// Client implements [command.Session].
func (s commandSession) Client() *command.Client { return &s.client }

// CloseAfterReply implements [command.Session].
func (s commandSession) CloseAfterReply() { s.public.Wait.Begin(wait.ForClose) }

// Reset implements [command.Session].
func (s commandSession) Reset() {
	s.stopMonitor()
	s.subscriptions.end()
	s.public.Cache.Stop()
	s.client, s.multi, s.watched = command.Client{}, transaction{}, nil
	s.resetToDefaultUser()
	s.ReplyMode(command.ReplyOn)
}

// Databases implements [command.Session].
func (s commandSession) Databases() int {
	if s.env.Cluster != nil {
		return 0
	}
	return s.env.config().DatabaseCount()
}

// ReplyMode implements [command.Session]. The command that turns replies on is answered itself, and SKIP adds nothing
// where they are off.
func (s commandSession) ReplyMode(mode command.ReplyMode) {
	if mode == command.ReplySkip && s.replyMode == command.ReplyOff {
		return
	}
	s.replyMode = mode
	if mode == command.ReplyOn {
		s.silent = false
	}
}

// Server implements [command.Session].
func (s commandSession) Server() command.Server { return s.env.Server }
