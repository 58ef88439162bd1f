package testspec

// The rules of tokens that leaders grant from memory, for the model of lease.go and for traces of clusters.

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
