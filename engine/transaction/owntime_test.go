package transaction

import "testing"

// On one server own times differ, even where goroutines have read the clock in another order, and are at most 10 ms
// later than the latest clock.
func TestOwnTimesOfOneServer(t *testing.T) {
	o := OwnTimes{ownTimes: ownTimes{distinct: true}}
	for i, step := range []struct{ now, want int64 }{
		{1_000_000, 1_000_000},
		{1_000_000, 1_001_000},
		{1_000_500, 1_002_000},
		{5_000_000, 5_000_000},
		{2_000_000, 5_001_000}, // read its clock long ago
		{5_001_001, 5_002_000},
	} {
		if got := o.take(step.now); got != step.want {
			t.Errorf("step %d: %d, want %d", i, got, step.want)
		}
	}
	last := int64(0)
	for range 10_100 {
		own := o.take(9_000_000)
		if own < last {
			t.Fatalf("%d comes after %d", own, last)
		}
		last = own
	}
	if want := 9_000_000 + maxLead; last != want {
		t.Errorf("10,100 transactions at one time end at %d, want %d", last, want)
	}
	if own := o.take(10_000_000); own != last+tick {
		t.Errorf("a millisecond later: %d, want %d", own, last+tick)
	}
}

// The own times of replicas follow from the operations that all of them carry out, and not from the reads of one.
func TestOwnTimesOfReplicas(t *testing.T) {
	leader, follower := OwnTimes{}, OwnTimes{}
	next := func(now int64) int64 {
		t.Helper()
		own := leader.peek(now)
		if other := follower.peek(now); other != own {
			t.Errorf("replicas have %d and %d", own, other)
		}
		leader.keep(own)
		follower.keep(own)
		return own
	}
	for range 2 {
		if own, read := next(3000), leader.take(3000); own != 3000 || read != 3000 {
			t.Errorf("%d and %d before all replicas know own times, want 3000", own, read)
		}
	}
	leader.SetDistinct(true)
	follower.SetDistinct(true)
	if first, second := next(3000), next(3000); first != 3000 || second != 4000 {
		t.Errorf("%d and %d, want 3000 and 4000", first, second)
	}
	for want := int64(5000); want < 8000; want += tick {
		if own := leader.take(3000); own != want {
			t.Errorf("a read has %d, want %d", own, want)
		}
	}
	if own := next(3500); own != 5000 {
		t.Errorf("%d after the reads of one replica, want 5000", own)
	}
	follower = OwnTimes{}
	follower.SetDistinct(true)
	follower.SetLast(leader.Last())
	if own := next(3500); own != 6000 {
		t.Errorf("%d at a replica that began with a snapshot, want 6000", own)
	}
}
