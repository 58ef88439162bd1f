package testmodel

import "testing"

// Random calls begin bans, some of them longer than the one before.
func TestCallsBeginBans(t *testing.T) {
	const of = 40_000
	c, began, doubled := NewCalls(1, of), 0, 0
	before := map[string]int64{}
	for c.Made() < of {
		c.Next()
		for key, s := range c.Model.keys {
			if s, ok := s.(*bans); ok && s.until > before[key] {
				began++
				if s.until-s.from > s.limit.ban {
					doubled++
				}
				before[key] = s.until
			}
		}
	}
	if t.Logf("%d bans, %d of them longer", began, doubled); began < 80 || doubled < 5 {
		t.Error("the calls try too little")
	}
}
