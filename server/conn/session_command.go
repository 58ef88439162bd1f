package conn

import (
	"github.com/stintdb/stint/server/acl"
	"github.com/stintdb/stint/server/command"
)

// commandSession is a session as its commands see it: it implements [command.Session].
type commandSession struct{ *Session }

// The rest of [command.Session]: properties of the connection that its commands read and change.

// Client implements [command.Session].
func (s commandSession) Client() *command.Client { return &s.client }

// Identify shows others whose requests come by a connection that executes none itself, and counts it as logged in.
func (s *Session) Identify(user *acl.User) {
	s.publish(&command.Client{User: user.Name()})
	if !s.loggedIn.Swap(true) {
		s.env.Registry.countLogin(s, false)
	}
}

// CloseAfterReply implements [command.Session].
func (s commandSession) CloseAfterReply() { s.wait.begin(ForClose) }

// Reset implements [command.Session].
func (s commandSession) Reset() {
	s.stopMonitor()
	subscriptions{s.Session}.end()
	tracked{s.Session}.Stop()
	s.client, s.multi = command.Client{}, transaction{}
	s.resetToDefaultUser()
	s.ReplyMode(command.ReplyOn)
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
