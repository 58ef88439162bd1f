package testspec

import (
	"testing"
	"testing/synctest"
	"time"
)

// Ann leads, and grants while Ben and Cid agree to her messages; then she is silent, and Cid votes for Ben. That follows the
// rules, and so do offers; the same with one pause or message changed does not.
func TestVotersAreFollowed(t *testing.T) {
	const tick = time.Millisecond
	for _, c := range []struct {
		name                 string
		late, silence        time.Duration
		isOffered, standsNow bool
		isWrong              bool
	}{
		{name: "as usual", late: 74 * tick, silence: 100 * tick},
		{name: "a lease that is too long", late: 75 * tick, silence: 100 * tick, isWrong: true},
		{name: "a vote that is too soon", silence: 90 * tick, isWrong: true},
		{name: "a vote for the node that was offered the leadership", silence: 10 * tick, isOffered: true},
		{name: "a candidate that has just heard the leader", silence: 100 * tick, standsNow: true, isWrong: true},
	} {
		synctest.Test(t, func(t *testing.T) {
			v := Voters{Timeout: 100 * tick}
			voters := []string{"Ann", "Ben", "Cid"}
			v.Grants("Ann", voters)
			time.Sleep(v.Timeout)
			sent := time.Now()
			time.Sleep(tick)
			v.Agreed("Ann", "Ben", 1, sent)
			v.Agreed("Ann", "Cid", 1, sent)
			time.Sleep(c.late - tick)
			v.Grants("Ann", voters)
			time.Sleep(c.silence - max(tick, c.late) - tick)
			if c.standsNow {
				v.Agreed("Ann", "Ben", 1, time.Now())
			}
			time.Sleep(tick)
			v.Asks("Ben", "Cid", 2, c.isOffered)
			v.Votes("Ben", "Cid", 2)
			v.Agreed("Ben", "Cid", 2, time.Now())
			v.Grants("Ben", voters)
			if events, err := v.Err(); (err != nil) != c.isWrong || events == 0 {
				t.Errorf("%s: %d events: %v", c.name, events, err)
			}
		})
	}
}
