package stint

import (
	"fmt"
	"time"
)

// Penalty bans callers who go on when they are denied (PENALTY). When the other limits of a call have denied so many
// requests within a window, it denies all of them until the ban ends. It takes no tokens. It is for [Limiter.All], and
// its key is the caller's:
//
//	limiter.All(ctx, stint.On("try:"+ip, stint.PerMinute(6)), stint.On("ban:"+ip, stint.Penalty(3, time.Minute, 10*time.Minute)))
//
// [LocalShare] counts no denials, and bans nobody.
func Penalty(denials int64, window, ban time.Duration) Limit {
	return Limit{algorithm: penalty, tokens: denials, count: denials, period: window, ban: ban, longestBan: ban}
}

// Doubling returns a penalty whose bans are twice as long each time, at most longest, for callers who are soon banned
// again. Other limits are returned as they are.
func (l Limit) Doubling(longest time.Duration) Limit {
	if l.algorithm == penalty {
		l.longestBan = longest
	}
	return l
}

// checkBan refuses bans that the protocol cannot express.
func (l Limit) checkBan() error {
	if l.ban <= 0 || l.ban%time.Millisecond != 0 || l.longestBan < l.ban || l.longestBan%time.Millisecond != 0 {
		return fmt.Errorf("%w: PENALTY: the ban must be a whole number of 1ms above zero, and that of Doubling no shorter, got %v and %v", ErrInvalid, l.ban, l.longestBan)
	}
	return nil
}
