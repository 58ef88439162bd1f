package data_test

import (
	"fmt"
	"strings"
	"testing"
)

// Two servers that execute the same commands at the same times choose the same elements, and every element is chosen at
// some time.
func TestChoicesAreAlike(t *testing.T) {
	a, b := newDataStore(t), newDataStore(t)
	both := func(line string) string {
		t.Helper()
		reply := a.do(line)
		b.want(reply, line)
		return reply
	}
	chosen := map[string]bool{}
	for i := range 100 {
		for j := range 10 {
			both(fmt.Sprintf("SADD set%d %d", i, j))
		}
		chosen[both(fmt.Sprintf("SRANDMEMBER set%d", i))] = true
		left := map[string]bool{}
		for range 10 {
			left[both(fmt.Sprintf("SPOP set%d", i))] = true
		}
		if len(left) != 10 {
			t.Fatalf("set%d: %d different members of 10", i, len(left))
		}
		both(fmt.Sprintf("SPOP set%d", i))
	}
	if len(chosen) != 10 {
		t.Errorf("%d of 10 members were ever chosen", len(chosen))
	}
}

// A positive count returns different elements, and a negative count as many as it says.
func TestCountsOfChoices(t *testing.T) {
	s := newDataStore(t)
	s.do("ZADD z 1 a 2 b 3 c")
	for count, want := range map[int]int{0: 0, 1: 1, 2: 2, 3: 3, 4: 3, -1: 1, -7: 7} {
		reply := s.do(fmt.Sprintf("ZRANDMEMBER z %d", count))
		elements := strings.Split(strings.TrimSuffix(reply, "\r\n"), "\r\n$1\r\n")
		if elements[0] != fmt.Sprintf("*%d", want) || len(elements) != want+1 {
			t.Errorf("%d: %q", count, reply)
		}
		seen := map[string]bool{}
		for _, e := range elements[1:] {
			if seen[e] && count > 0 {
				t.Errorf("%d: %q has %s twice", count, reply, e)
			}
			seen[e] = true
		}
	}
}
