package stint

import "fmt"

// MaxSegments is the most segments of [Limit.Segments].
const MaxSegments = 120

// Segments returns a sliding window cut into 2 to [MaxSegments] segments: no window of its length ever holds more than n
// tokens, and tokens come back at most a segment late. It is for [SlidingWindow]; other limits are returned as they
// are. A key is limited with or without segments, and never by both.
func (l Limit) Segments(segments int) Limit {
	if l.algorithm == slidingWindow {
		l.segments = segments
	}
	return l
}

// Rollover returns the limit with the tokens that were left when the window before closed, at most a percentage of the
// limit, 1 to 100. A request without it ends it. It is for [Window] with a [Period] of the calendar or [Aligned]; other
// limits are returned as they are.
func (l Limit) Rollover(percent int) Limit {
	if l.algorithm == fixedWindow && len(l.window) > 0 && l.window[0] == '@' {
		l.rollover = percent
	}
	return l
}

// checkOptions refuses options that the server refuses.
func (l Limit) checkOptions() error {
	switch {
	case l.warn < 0 || l.warn > 100:
		return fmt.Errorf("%w: Warn must be a percentage from 1 to 100, got %d", ErrInvalid, l.warn)
	case l.segments < 0 || l.segments == 1 || l.segments > MaxSegments:
		return fmt.Errorf("%w: Segments must be a number from 2 to %d, got %d", ErrInvalid, MaxSegments, l.segments)
	case l.rollover < 0 || l.rollover > 100:
		return fmt.Errorf("%w: Rollover must be a percentage from 1 to 100, got %d", ErrInvalid, l.rollover)
	}
	return nil
}
