package testmodel

import (
	"strings"
	"testing"
)

// Random calls make loans, ask limiters that have some, and end them in every way.
func TestCallsMakeLoans(t *testing.T) {
	const of = 40_000
	c, granted := NewCalls(1, of), map[string]int{}
	for c.Made() < of {
		s := c.Next()
		for i, words := range s.Commands {
			if strings.HasPrefix(s.Replies[i], "*5\r\n:") && !strings.HasPrefix(s.Replies[i], "*5\r\n:0\r\n") {
				granted[strings.ToUpper(words[0])]++
			}
			if len(words) < 2 {
				continue
			}
			if _, ok := c.Model.keys[words[1]].(*lent); ok {
				granted["beside loans"]++
			}
		}
	}
	for _, name := range []string{"RL.LEND", "RL.RETURN", "RL.VOID", "beside loans"} {
		if granted[name] < 10 {
			t.Errorf("%s: %d in %d calls", name, granted[name], of)
		}
	}
	t.Log(granted)
}
