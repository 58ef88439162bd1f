package rlqs

import "time"

// bucket is the content of one assignment: tokens at once, and a rate in units.
type bucket struct {
	tokens  int64 // as assigned
	held    int64 // tokens of these that may be unspent
	units   int64
	until   time.Duration // the Envoy has it no longer than until then; 0 for no bucket
	allowed int64         // requests that the Envoy reported since it was assigned
	isThere bool          // the Envoy has surely received it
}

func (b *bucket) lives() bool { return b.until != 0 }

// share is a stream's part of a quota: one bucket of one Envoy.
type share struct {
	quota    *quota
	pairs    map[string]string
	bytes    int    // of the bucket's id
	mayKeep  bool   // the Envoy may still have an assignment of an earlier stream
	inReport uint64 // number of the last report of the stream that named the share
	demand   float64
	known    bool // the demand is measured, not guessed

	now, before bucket // the assigned one, and the one before it until the Envoy has surely replaced that
	changed     time.Duration
	mayHave     time.Duration // until then the Envoy may have an assignment of an earlier stream
	left        float64
	denied      bool // requests in the last report
	reported    time.Duration
	busy        time.Duration // the last report with requests
	hasSlot     bool          // it can have a bucket
	isGone      bool          // the stream ended, or the bucket was abandoned
	waits       bool          // it should have more than it has
	isOld       bool          // its bucket is from an earlier limit, or from just after the limit was lowered
}

// units returns the units that the Envoy may use: it has one bucket or the other.
func (s *share) units() int64 { return max(s.now.units, s.before.units) }

// held returns the tokens of both buckets: the Envoy can spend the first one, and then gets the second one full.
func (s *share) held() int64 { return s.now.held + s.before.held }

// measure updates the estimates of demand and of tokens left with a report.
func (s *share) measure(now, elapsed time.Duration, allowed, denied int64, perSecond float64) {
	span := (now - s.reported).Seconds()
	asked := float64(allowed) + float64(denied)
	switch {
	case s.reported == 0 && elapsed >= time.Second: // it has reported to another quota, or on an earlier stream
		if s.demand, s.known = asked/elapsed.Seconds(), true; s.mayKeep {
			s.mayHave = now + TTL
		}
	case s.reported == 0:
		s.demand = max(1, asked, s.quota.usualDemand())
	case span < 1: // a first report that came twice
		s.demand = max(s.demand, asked)
	case !s.known:
		s.demand, s.known = (1+asked)/span, true
	case asked == 0 && s.demand < 1.0/120:
		s.demand = 0
	case asked == 0:
		s.demand /= 4
	default:
		s.demand = (s.demand + asked/span) / 2
	}
	if asked > 0 || s.busy == 0 {
		s.busy = now
	}
	s.left = max(0, min(float64(s.now.tokens), s.left+perSecond*span)-float64(allowed))
	allowed = min(allowed, maxTokens) // a bucket has no more, and sums have room
	s.now.allowed = min(s.now.allowed+allowed, maxTokens)
	s.before.allowed = min(s.before.allowed+allowed, maxTokens)
	if s.now.isThere && s.now.units == 0 {
		s.quota.spend(&s.now, allowed)
	}
	s.denied, s.reported = denied > 0, now
}

// mayChange reports whether the share's bucket can be replaced, because the Envoy has replaced the one before.
func (s *share) mayChange(now time.Duration) bool {
	return !s.before.lives() || now >= s.changed+Margin
}

// isDue reports whether the share should have more, or has the rate of a bucket that its Envoy has replaced.
func (s *share) isDue(now time.Duration) bool {
	return s.waits || s.before.units > 0 && s.mayChange(now)
}

// isTooLarge reports whether the share's bucket is from an earlier limit and has more than it should have under this
// one, or is from before the limit was lowered to few tokens.
func (s *share) isTooLarge(b bucket) bool {
	return s.isOld && s.now.lives() && (b.tokens < s.now.tokens || b.units < s.now.units || s.changed < s.quota.lowered)
}

// replace gives the share another bucket. The tokens of the buckets before it are held until a report says how many
// requests they have granted together.
func (s *share) replace(now time.Duration, b bucket) {
	old := s.now
	if s.before.lives() {
		old.tokens += s.before.tokens
		old.held += s.before.held
		old.units = max(old.units, s.before.units)
		old.until = max(old.until, s.before.until)
		old.allowed = s.before.allowed
	}
	s.before, s.now, s.changed, s.left, s.mayHave = old, b, now, float64(b.tokens), 0
	s.isOld = now < s.quota.units.debt // its rate may still be too large: not all demands are known
}

// settle ends buckets whose time is over, and after a report the bucket that was replaced long enough before. Tokens of
// that one beyond the requests since then are unspent: the Envoy has thrown them away.
func (s *share) settle(now time.Duration, reported bool) {
	if now >= s.changed+Margin && !s.isGone { // the assignment may have been lost with the stream
		s.before.units = 0
		if reported {
			s.now.isThere = s.now.lives()
			s.quota.end(&s.before, max(0, s.before.tokens-s.before.allowed))
		}
	}
	for _, b := range []*bucket{&s.before, &s.now} {
		if b.lives() && now >= b.until {
			s.quota.end(b, 0)
		}
	}
}
