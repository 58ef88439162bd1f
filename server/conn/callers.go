package conn

// callerSession is a session that callers use in turn, one at a time.
type callerSession struct {
	Session
	woken chan struct{}
}

// getCaller returns a session of a caller.
func (e *Env) getCaller(caller Caller) *callerSession {
	s, isUsed := e.callers.Get().(*callerSession)
	if !isUsed {
		woken := make(chan struct{}, 1)
		s = &callerSession{woken: woken}
		s.env, s.onDecided = e, s.decided
		s.wake = func() {
			select {
			case woken <- struct{}{}:
			default:
			}
		}
		s.initFanout()
	}
	s.share = &s.ownShare
	s.addr, s.opened, s.forwards = caller.Address, e.Clock.Now(), true
	if s.user = caller.User; s.user != nil {
		s.client.User = s.user.Name()
	}
	s.loggedIn.Store(s.user != nil)
	s.published.Store(&s.client) // no other goroutine looks for it
	return s
}

// putCaller keeps a session for the next caller if nothing else refers to it. A session that waited is not kept, since the decider or a timer may
// still call it; nor is a session that was given to a command, as limiter commands never are.
func (e *Env) putCaller(s *callerSession, waited bool) {
	if !waited && !s.shared {
		s.reset()
		e.callers.Put(s)
	}
}

// reset makes a session that nobody else knows like a new one of nobody. It keeps only the means by which it is woken, and room.
func (s *Session) reset() {
	s.reader.Reset()
	*s = Session{public: public{env: s.env, wake: s.wake}, onDecided: s.onDecided, reader: s.reader}
	s.initFanout()
}
