package fairqueue

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestTurnsOfOwners(t *testing.T) {
	for _, test := range []struct {
		name  string
		most  int
		come  string // an owner each, in this order
		begun string
	}{
		{"one owner", 1, "a a a", "a a a"},
		{"another owner waits for one turn", 1, "a a a a b", "a a b a a"},
		{"owners take turns", 1, "a a a b b c", "a a b c a b"},
		{"several at a time", 2, "a a a a b b", "a a a b a b"},
	} {
		synctest.Test(t, func(t *testing.T) {
			turns, begun := NewTurns(test.most), []string{}
			var mu sync.Mutex
			atOnce := 0
			for _, owner := range strings.Fields(test.come) {
				go func() {
					turns.Begin(owner)
					mu.Lock()
					begun = append(begun, owner)
					if atOnce++; atOnce > test.most {
						t.Errorf("%s: %d at a time", test.name, atOnce)
					}
					mu.Unlock()
					time.Sleep(time.Second)
					mu.Lock()
					atOnce--
					mu.Unlock()
					turns.End()
				}()
				synctest.Wait()
				time.Sleep(time.Millisecond)
			}
			time.Sleep(time.Minute)
			synctest.Wait()
			if got := strings.Join(begun, " "); got != test.begun {
				t.Errorf("%s: %s, want %s", test.name, got, test.begun)
			}
			for range test.most {
				if !turns.TryBegin() {
					t.Errorf("%s: a turn was not given back", test.name)
				}
			}
			if turns.TryBegin() {
				t.Errorf("%s: one turn too many", test.name)
			}
		})
	}
}
