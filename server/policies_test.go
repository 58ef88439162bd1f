package server

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// Versions of a policy differ in how many limits they have, in their limits, and in whether they only count. One
// connection changes from version to version while others ask; each answer is that of one version, whole.
func TestPolicyChangesUnderTraffic(t *testing.T) {
	// In version n there are n+1 limits of 1000n + i for the i-th. Even versions are in shadow, and as only their last
	// limit ever denies, a check of more than it has is granted there and denied in odd ones.
	const versions = 6
	set := make([]string, versions)
	for n := range set {
		set[n] = "RL.POLICY SET api"
		for i := range n + 1 {
			set[n] += fmt.Sprintf(" TB limit-%d:{} %d 1/h", i, 1000*(n+1)+versions-i)
		}
		if n%2 == 0 {
			set[n] += " SHADOW"
		}
	}
	// answer is the reply to a check of 9000 tokens, more than any limit has, under version n. It takes nothing.
	answer := make(map[string]int)
	for n := range versions {
		parts := []string{}
		for i := range n + 1 {
			limit := 1000*(n+1) + versions - i
			parts = append(parts, fmt.Sprintf("[%d %d 0]", limit, limit))
		}
		verdict := "0 0 -1"
		if n%2 == 0 {
			verdict = "9000 0 0"
		}
		answer["["+verdict+" ["+strings.Join(parts, " ")+"]]"] = n
	}
	// One caller is held to other limits, in the same number of versions.
	override := func(n int) string {
		return fmt.Sprintf("RL.POLICY OVERRIDE api vip TB vip-a:{} %d 1/h TB vip-b:{} %d 1/h", 100*(n+1), 200*(n+1))
	}
	h := serve(t)
	changer := h.speaker(t)
	must := func(command string) {
		if reply, err := changer.ask(command); reply != "+OK" {
			t.Errorf("%.50s: %s (%v)", command, reply, err)
		}
	}
	must(set[0])
	must(override(0))
	var stop atomic.Bool
	var seen [versions]atomic.Int64
	var vips atomic.Int64
	var wg sync.WaitGroup
	for client := range 6 {
		wg.Go(func() {
			s := h.speaker(t)
			for i := 0; !stop.Load(); i++ {
				if client == 0 && i%2 == 0 {
					reply, err := s.ask("RL.CHECK api vip 1 PEEK")
					var a, b, left, reset int
					if n, _ := fmt.Sscanf(reply, "[1 -1 0 [[%d %d %d] [%d", &a, &left, &reset, &b); n != 4 || b != 2*a || err != nil {
						t.Errorf("the caller with an override: %s (%v)", reply, err)
						return
					}
					vips.Add(1)
					continue
				}
				reply, err := s.ask(fmt.Sprintf("RL.CHECK api caller-%d 9000", client))
				n, known := answer[reply]
				if !known || err != nil {
					t.Errorf("no version answers %s (%v)", reply, err)
					return
				}
				seen[n].Add(1)
			}
		})
	}
	enough := func() bool {
		for n := range seen {
			if seen[n].Load() < 50 {
				return false
			}
		}
		return vips.Load() > 50
	}
	for round := 0; !t.Failed() && (round < 200 || !enough()) && round < 100_000; round++ {
		must(set[round%versions])
		must(override(round % versions))
	}
	stop.Store(true)
	wg.Wait()
	if !enough() && !t.Failed() {
		t.Errorf("the versions were seen %v times: the traffic tries too little", &seen)
	}
}
