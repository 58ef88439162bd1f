package server

import "github.com/stintdb/stint/server/command"

// The rest of [command.Session]: what commands may see and change of their own connection.

// Client implements [command.Session].
func (s *session) Client() *command.Client { return &s.client }

// ID implements [command.Session].
func (s *session) ID() int64 { return s.id }

// CloseAfterReply implements [command.Session].
func (s *session) CloseAfterReply() { s.closing = true }

// Reset implements [command.Session].
func (s *session) Reset() {
	s.endMonitor()
	s.client, s.multi = command.Client{}, transaction{}
	s.beDefault()
	s.ReplyMode(command.ReplyOn)
}

// ReplyMode implements [command.Session]. The command that turns replies on is answered itself, and SKIP adds nothing
// where they are off.
func (s *session) ReplyMode(mode command.ReplyMode) {
	if mode == command.ReplySkip && s.replyMode == command.ReplyOff {
		return
	}
	s.replyMode = mode
	if mode == command.ReplyOn {
		s.silent = false
	}
}

// Server implements [command.Session].
func (s *session) Server() command.Server { return s.host }
