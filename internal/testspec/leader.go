package testspec

// The rules of leaders for the model of lease.go and for traces of clusters: tokens that leaders grant from memory, leases
// and votes.

// mayTake reports whether a leader may grant tokens from memory, if it and earlier leaders have granted some that the log's
// state does not count.
func mayTake[N number](taken, tokens, part N) bool { return taken+tokens <= part }

// counted is how many tokens the log's state counts as taken when it gets a limiter: those that the entry takes along, and
// the part of a leader before, which nobody knows.
func counted[N number](carried N, hasPrior bool, part N) N {
	if hasPrior {
		return carried + part
	}
	return carried
}

// leaseLeft is how long a leader may still grant from memory, by the time since it asked whether it leads and the time since
// it sent the message to which a majority has agreed.
func leaseLeft[N number](timeout, sinceAsked, sinceSent N) N {
	return max(0, min(timeout/2-sinceAsked, timeout/2+timeout/4-sinceSent))
}

// mayVote reports whether a voter may vote for another node than the leader that it has heard: after a silence of a whole
// timeout, or if the leader has offered the leadership.
func mayVote[N number](silence, timeout N, isOffered bool) bool {
	return silence >= timeout || isOffered
}
