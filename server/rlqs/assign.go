package rlqs

import "time"

// plan returns the bucket that a share should have, if there is enough at home. wants is false if its present bucket is
// good enough.
func (q *quota) plan(s *share) (b bucket, wants bool) {
	if !s.hasSlot {
		return bucket{}, s.now.lives()
	}
	if q.by.interval == 0 {
		b, wants = q.planTokens(s)
	} else {
		b, wants = q.planRate(s)
	}
	if s.isTooLarge(b) {
		b.tokens, wants = max(1, b.tokens), true
	}
	return b, wants
}

// planTokens is plan for a limit that refills slowly: the bucket has tokens for the time of two reports, and no rate.
func (q *quota) planTokens(s *share) (b bucket, wants bool) {
	part, home := q.part(s.demand), float64(q.tokens.free+q.spareTokens())
	need := max(s.demand*ahead.Seconds(), part*float64(q.limit.Capacity)/8, 1)
	most := min(2*home*part, home/2)
	if !s.known {
		most = min(most, float64(q.limit.Capacity)/8)
	}
	b.tokens = int64(min(need, max(1, most)))
	if s.demand == 0 {
		return b, s.now.tokens > 1 || !s.now.lives()
	}
	lasts := s.left >= 1 && s.left >= s.demand*(reportsEvery+Margin).Seconds()
	tooMany := s.left > 4*max(1, need)
	return b, !s.now.lives() || !lasts && float64(b.tokens) > s.left || tooMany
}

// planRate is plan for a limit that refills quickly. Buckets have up to five eighths of the tokens, by demand. The
// others are for newcomers and for changes, each of which takes a full bucket.
func (q *quota) planRate(s *share) (b bucket, wants bool) {
	have, home := &s.now, q.tokens.free+q.spareTokens()
	expects := s.demand
	if s.demand > 0 && q.inSlots > 0 {
		most := 2*s.demand*float64(q.by.interval) + float64(q.by.units.Capacity)/16
		if isAlone := q.part(s.demand) == 1; isAlone && !s.known {
			// its first report tells no demand, and the other half is for newcomers
			most = max(most, float64(q.by.units.Capacity)/2)
			expects = max(expects, most/float64(q.by.interval)/8)
		}
		due := float64(q.by.units.Capacity) * q.part(q.ownDemand) * s.demand / q.inSlots
		b.units = int64(min(most, due))
	}
	b.tokens = max(1, int64(min(q.part(s.demand)*float64(q.limit.Capacity)*5/8, max(5, expects))))
	could := min(b.units, have.units+q.spareUnits()+q.units.free)
	switch raises := s.denied && 100*could > 103*have.units; {
	case !have.lives():
		b.tokens = max(1, min(b.tokens, home/4))
		return b, true
	case lowers(b, *have), 3*b.tokens < have.tokens && s.demand > 0:
		return b, true
	case s.demand == 0:
		return b, have.tokens > 1 || have.units > 0
	case raises:
		b.tokens = max(1, min(b.tokens, home/4))
		return b, 2*b.tokens >= have.tokens || 2*could > 3*have.units
	}
	full := b.tokens
	b.tokens = min(b.tokens, home-q.limit.Capacity/4)
	tooFew := 2*full > 3*have.tokens || s.denied && s.left < float64(have.tokens)/4
	return b, tooFew && b.tokens > max(0, full/2)
}

// lowers reports whether a bucket has clearly less rate than another.
func lowers(b, than bucket) bool { return 10*b.units < 9*than.units }

// Kind is the kind of an assignment.
type Kind uint8

// The kinds of assignments.
const (
	Deny    Kind = iota // all requests
	Allow               // all requests
	Bucket              // a token bucket
	Abandon             // the Envoy is to forget the bucket until its next request
)

// Assignment is the answer about one bucket of an Envoy.
type Assignment struct {
	Pairs    map[string]string
	Kind     Kind
	Changed  bool  // the Bucket is a new one, which begins full
	Tokens   int64 // that a Bucket has at most, and at the beginning
	Units    int64 // tokens that refill in Interval; 0 for none
	Interval int64 // seconds
}

// assign decides the share's assignment by the loans. ok is false if the Envoy is to be sent nothing.
func (q *quota) assign(now time.Duration, s *share) (a Assignment, ok bool) {
	if s.now.lives() && now+2*Margin > s.now.until { // it may end before this arrives, and would begin again full
		s.replace(now, bucket{})
	}
	want, wants := q.plan(s)
	if wants && s.mayChange(now) {
		q.change(now, s, want)
	}
	s.waits = s.demand > 0 && s.hasSlot && (!s.now.lives() || 10*s.now.units < 9*want.units)
	a = Assignment{Pairs: s.pairs, Kind: Deny}
	if s.now.lives() {
		if !q.tokens.outlives(now) || s.now.units > 0 && !q.units.outlives(now) {
			return a, false // home does not answer: the Envoy's bucket ends
		}
		s.now.until = now + TTL + Margin
		a.Kind, a.Changed = Bucket, s.changed == now
		a.Tokens, a.Units, a.Interval = s.now.tokens, s.now.units, rateInterval
	}
	return a, a.Kind != Deny || now >= s.mayHave
}

// change replaces the share's bucket, if there is enough.
func (q *quota) change(now time.Duration, s *share, want bucket) {
	b := bucket{tokens: min(want.tokens, q.spareTokens(), maxTokens)}
	b.units = min(want.units, s.now.units+q.spareUnits(), maxTokens)
	b.held, b.until = b.tokens, now+TTL+Margin
	least := int64(1)
	if q.by.interval > 0 && !lowers(want, s.now) {
		least = max(1, want.tokens/2)
	}
	switch {
	case now < s.mayHave && !s.now.lives() && 2*b.units < want.units: // what the Envoy may have is better
		return
	case s.isTooLarge(want):
		if b.tokens == 0 || !q.tokens.outlives(now) || b.units > 0 && !q.units.outlives(now) {
			b = bucket{} // until a report has brought back the rest of the old one
		}
	case s.before.lives() && 2*b.units < 3*s.now.units: // soon again only for much more
		return
	case want.tokens == 0: // no slot
		b = bucket{}
	case b.tokens == 0 && lowers(want, s.now) && 2*want.units < s.now.units:
		b = bucket{} // nobody has a token for a smaller bucket, and others wait for the rate
	case s.now.lives() && b.units < want.units && 100*b.units <= 103*s.now.units && s.left >= 1: // the rate is not there
		return
	case b.tokens < least || !q.tokens.outlives(now) || b.units > 0 && !q.units.outlives(now):
		return
	}
	usedUnits, usedTokens := s.units(), s.held()
	s.replace(now, b)
	q.usedUnits += s.units() - usedUnits
	q.usedTokens += s.held() - usedTokens
}

// maxTokens is the largest number in the protocol.
const maxTokens = 1<<32 - 1
