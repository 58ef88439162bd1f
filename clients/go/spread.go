package stint

// Spread returns the limit with turns for denied callers: [Result].RetryAfter is the time at which there are tokens for
// this caller, after all who were denied before have taken theirs, so that they do not come back together. It is for
// buckets, queues and fixed windows; it does nothing for others.
func (l Limit) Spread() Limit {
	l.spread = true
	return l
}

func (l Limit) spreads() bool {
	return l.spread && (l.algorithm == tokenBucket || l.algorithm == leakyQueue || l.algorithm == fixedWindow)
}
