package testmodel

// request asks a limit for tokens.
type request struct {
	key               string
	limit             limit
	tokens            int64
	holder            string
	peek, upTo, force bool
	wait              int64 // MAXWAIT or BLOCK, in nanoseconds; 0 for neither
	block             bool
	priority          bool         // with a PRIORITY
	spread            bool         // with SPREAD
	isElse            bool         // a balance after ELSE
	expires           int64        // BAL.ADD: when the credits expire
	cost              bool         // tokens is a COST
	isReturn          bool         // RL.RETURN: KEEP is the tokens of the loan that goes on
	whole             bool         // RL.LEND: up to all available tokens, not an eighth
	keep              *kept        // nil without KEEP
	fields            []string     // names and values after WITH, by turns
	id                *string      // after AS
	length            int64        // after FOR
	asked             string       // of a call with an id: see describe
	extends           *reservation // RL.EXTEND
	single            bool         // a call for one limit
	undelayed         bool         // a call of a policy in shadow
	left              int64        // after LEFT
	showWarn          bool         // the field of limits that warn
	split             bool         // with SPLIT
	lent              int64        // tokens that are set aside for holders
	ends              []loan       // those among them that end, the first one first
}

// answer is the outcome of a request; wait and reset are nanoseconds, and a wait of [never] is for ever.
type answer struct {
	granted          bool
	tokens           int64
	limit, remaining int64
	wait, reset      int64
	warn             int64 // of the limit, 0 if there is no field
	taken            int64 // by the request and all its extensions
}

const never = -1

// state is the state of a limiter that had not expired when it was last read.
type state interface {
	// live reports whether it has not expired.
	live(now int64) bool
	// look returns the values that RL.INFO and PTTL show: the last limit used, remaining and reset.
	look(now int64) (l limit, remaining, reset int64)
	// refund gives tokens back; the resulting state may have expired.
	refund(now, tokens int64) state
	// boundaries are the times at which it changes.
	boundaries() []int64
}

const debtTooBig = refusal("ERR tokens: FORCE would put the key further in debt than can be kept: 1000000000000 tokens beyond the capacity, or 150 years until the bucket is full again")

// decide answers a request to a limiter in a state, which is nil if it has expired; next is its state afterwards, if
// tokens are taken.
func decide(held state, r *request, now int64) (a answer, next state, err error) {
	if s, ok := held.(*lent); ok {
		asked := *r
		asked.lent, asked.ends = s.sum(), s.ends()
		if a, next, err = decide(s.inner, &asked, now); next != nil {
			next = s.with(next)
		}
		return a, next, err
	}
	a.limit = r.limit.most
	switch r.limit.algorithm {
	case fixedWindow:
		a, next, err = decideFixed(held, r, now, a)
		return a, warned(next, r.limit, now), err
	case slidingWindow:
		a, next, err = decideSliding(held, r, now, a)
		return a, warned(next, r.limit, now), err
	case slidingSegments:
		return decideSegments(held, r, now, a)
	case slidingLog:
		return decideLog(held, r, now, a)
	case concurrency:
		return decideLease(held, r, now, a)
	case balance:
		if r.expires != 0 {
			return decideCredits(held, r, now)
		}
		return decideBalance(held, r, now, a)
	case penalty:
		return decidePenalty(held, r, now, a)
	case leakyQueue:
		if r.force { // a settlement: used tokens take no place that others wait for
			return decideMeter(held, r, now, a)
		}
		return decideQueue(held, r, now, a)
	}
	return decideMeter(held, r, now, a)
}

// count is the part of a decision that windows share: used tokens are counted, and at most the limit is granted.
func (a *answer) count(r *request, used int64) (taken int64, err error) {
	a.tokens = r.tokens
	if r.upTo {
		a.tokens = min(r.tokens, max(0, r.open()-r.lent-used))
	}
	switch {
	case r.force && used+r.tokens > r.limit.most+mostTokens:
		return 0, debtTooBig
	case r.force:
		a.granted = true
	default:
		a.granted = a.tokens > 0 && used+a.tokens <= r.open()-r.lent
	}
	if a.granted {
		used += a.tokens
	} else {
		a.tokens = 0
	}
	a.remaining = r.limit.most - r.lent - used
	if !r.force {
		a.remaining = max(0, a.remaining)
	}
	return used, nil
}

// hopeless reports whether a denied request of a window asks for more than the limit has open to it.
func (r *request) hopeless() bool { return r.least() > r.open() }

// open is the part of the limit that the request may take.
func (r *request) open() int64 { return r.limit.most - r.keep.of(r.limit.most) }

// limitOf is the limit that a key is held to.
func (m *Model) limitOf(s state) limit {
	if f, is := s.(*fixed); is { // whose look adds what was rolled over
		return f.limit
	}
	l, _, _ := s.look(m.Now)
	return l
}

// least is the number of tokens that a denied request waits for.
func (r *request) least() int64 {
	if r.upTo {
		return 1
	}
	return r.tokens
}
