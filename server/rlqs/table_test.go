package rlqs

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// usagesOf returns reports of n new buckets, whose ids have a length and are different for each stream.
func usagesOf(stream, n, length int) (all []Usage) {
	for i := range n {
		id := fmt.Sprint(stream, " ", i)
		id += strings.Repeat("x", length-len(id))
		all = append(all, Usage{ID: id, Kind: Bucket, Key: fmt.Sprint("k", stream), Limit: Limit{100, 100, time.Second}})
	}
	return all
}

// abandons takes a report, and returns how many of its buckets are abandoned.
func (s *Stream) abandons(all []Usage) (n int) {
	s.Report(time.Second, all)
	for _, a := range s.Assign(time.Second) {
		if a.Kind == Abandon {
			n++
		}
	}
	return n
}

// A stream's buckets have room for 40 KiB: their ids, and bucketBytes for each. A bucket that has left makes room
// again.
func TestIDsOfAStreamAreBounded(t *testing.T) {
	const fit = 40 << 10 / 128
	table := NewTable("a", 1)
	s := table.NewStream()
	all := usagesOf(1, fit+1, 128-bucketBytes)
	if n := s.abandons(all[:fit]); n != 0 {
		t.Errorf("%d of %d buckets are abandoned", n, fit)
	}
	if n := s.abandons(all[fit:]); n != 1 { // which is alone in its report
		t.Errorf("%d buckets beyond the bound of a stream are abandoned, want 1", n)
	}
	if n := table.NewStream().abandons(usagesOf(2, fit+5, 128-bucketBytes)); n != 5 {
		t.Errorf("%d buckets beyond the bound of a report are abandoned, want 5", n)
	}
	all[0].Kind = Allow // its rule has changed
	if n := s.abandons(all[:1]) + s.abandons(all[fit:]); n != 0 {
		t.Error("there is no room after a bucket has left")
	}
	if c := table.Counts(); c.Refused != 6 || c.Buckets != 2*fit {
		t.Errorf("the counts are %+v", c)
	}
}

// All streams of a node have 65,536 buckets, and more when one of them ends.
func TestBucketsAreBounded(t *testing.T) {
	const most, each = 65536, 128
	table := NewTable("a", 1)
	var first *Stream
	for i := range most / each {
		s := table.NewStream()
		if first == nil {
			first = s
		}
		if n := s.abandons(usagesOf(i, each, 10)); n != 0 {
			t.Fatalf("%d of stream %d are abandoned", n, i)
		}
	}
	last := table.NewStream()
	if n := last.abandons(usagesOf(most, 1, 10)); n != 1 || table.Counts().Buckets != most {
		t.Errorf("of %d buckets, the one beyond the bound is not abandoned", table.Counts().Buckets)
	}
	first.Cut()
	if n := last.abandons(usagesOf(most, 1, 10)); n != 0 {
		t.Error("there is no room after a stream has ended")
	}
}

// An Envoy that comes back on a new stream keeps its assignment while no tokens are free for it. An assignment of the
// same stream without a limit, or by another rule, ends at once with a denial.
func TestOnlyWhatAnEarlierStreamGaveIsKept(t *testing.T) {
	s := NewTable("a", 1).NewStream()
	now := time.Duration(0)
	for _, step := range []struct {
		report, want string
	}{
		{"free any, kept k", "free allow"}, // the first report of a stream, after five seconds on another
		{"free k, kept k", "free deny"},    // nothing can be lent: there is no home
		{"free k, kept k2", "free deny, kept deny"},
		{"late any", "late allow"},
		{"late k", "late deny"},
	} {
		now += reportsEvery
		var all []Usage
		for _, one := range strings.Split(step.report, ", ") {
			id, key, _ := strings.Cut(one, " ")
			u := Usage{ID: id, Pairs: map[string]string{"id": id}, Kind: Bucket, Key: key, Limit: Limit{100, 100, time.Second}, Learned: now, Elapsed: reportsEvery, Allowed: 50}
			if key == "any" {
				u.Kind = Allow
			}
			all = append(all, u)
		}
		s.Report(now, all)
		var got []string
		for _, a := range s.Assign(now) {
			got = append(got, a.Pairs["id"]+" "+map[Kind]string{Allow: "allow", Deny: "deny", Bucket: "bucket", Abandon: "abandon"}[a.Kind])
		}
		if got := strings.Join(got, ", "); got != step.want {
			t.Errorf("after the report %q: %q, want %q", step.report, got, step.want)
		}
	}
}
