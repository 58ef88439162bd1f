package conn

// callerSession is a session that callers use in turn, one at a time.
type callerSession struct {
	session Session
	woken   chan struct{}
}

// getCaller returns a session of a caller.
func (e *Env) getCaller(caller Caller) *callerSession {
	c, isUsed := e.callers.Get().(*callerSession)
	if !isUsed {
		woken := make(chan struct{}, 1)
		c = &callerSession{woken: woken}
		s := &c.session
		s.public = e.Registry.NewConnection("", "", func() {
			select {
			case woken <- struct{}{}:
			default:
			}
		})
		s.public.Init()
		s.env, s.onDecided = e, s.decided
	}
	s := &c.session
	s.turn.Init(&s.public.Wait)
	s.subscriptions.init(s)
	s.public.Assign(caller.Address)
	s.forwards = true
	if s.user = caller.User; s.user != nil {
		s.client.User = s.user.Name()
	}
	if caller.Expect != nil {
		s.watched = &watchedKeys{expect: *caller.Expect}
	}
	s.public.SetLoggedIn(s.user != nil)
	s.public.Share(&s.client)
	return c
}

// putCaller keeps a session for the next caller if nothing else refers to it. A session that waited is not kept, since
// the decider or a timer may still call it; nor is a session that was given to a command. Limiter commands get none.
func (e *Env) putCaller(c *callerSession, waited bool) {
	if !waited && !c.session.shared {
		c.session.reset()
		e.callers.Put(c)
	}
}

// reset makes a session that nobody else knows like a new one without a user. It keeps only the means by which it is
// woken, and its scratch space.
func (s *Session) reset() {
	s.reader.Reset()
	*s = Session{public: s.public.Renewed(), env: s.env, onDecided: s.onDecided, reader: s.reader}
	s.public.Init()
}
