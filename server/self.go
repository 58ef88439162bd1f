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
	s.client, s.replyMode, s.multi = command.Client{}, command.ReplyOn, transaction{}
}

// ReplyMode implements [command.Session].
func (s *session) ReplyMode(mode command.ReplyMode) { s.replyMode = mode }

// Server implements [command.Session].
func (s *session) Server() command.Server { return s.host }
