package stint

import "fmt"

// Warn returns the limit with a threshold in percent of its tokens, 1 to 100. Once that part is used, [Result].Warn is
// set, and the server publishes one message for each window and key. It is for buckets, queues and windows; it does
// nothing for others.
func (l Limit) Warn(percent int) Limit {
	l.warn = percent
	return l
}

func (l Limit) hasWarn() bool {
	return l.warn != 0 && l.algorithm != gcra && l.algorithm != fairShare && l.algorithm != adaptive
}

func (l Limit) checkWarn() error {
	if l.warn < 0 || l.warn > 100 {
		return fmt.Errorf("%w: Warn must be a percentage from 1 to 100, got %d", ErrInvalid, l.warn)
	}
	return nil
}
