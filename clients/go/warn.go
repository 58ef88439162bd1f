package stint

// Warn returns the limit with a threshold in percent of its tokens, 1 to 100. Once that part is used, [Result].Warn is
// set, and the server publishes one message for each window and key. It is for buckets, queues, windows and
// concurrency limits; it does nothing for others.
func (l Limit) Warn(percent int) Limit {
	l.warn = percent
	return l
}

func (l Limit) hasWarn() bool { return l.warn != 0 && !words[l.algorithm].noWarn }
