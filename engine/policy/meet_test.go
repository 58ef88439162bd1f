package policy

import (
	"testing"

	"github.com/stintdb/stint/engine"
)

// Keys of policies that are in use stay apart; others meet, of policies and of overrides.
func TestMeetingKeys(t *testing.T) {
	for _, c := range []struct {
		override, one, other string
		meet                 bool
	}{
		{"", "user:{}", "all", false},
		{"", "user:{}", "user:all", true},
		{"", "user:{}", "users", false},
		{"", "{}", "all", true},
		{"", "{}", "{}:day", true},
		{"", "{}:hour", "{}:day", false},
		{"", "tenant:{tenant}", "user:{tenant}:{}", false},
		{"", "{tenant}:{}", "{tenant}", false},
		{"", "{tenant}:{}", "{tenant}:{model}", true},
		{"", "a:{x}", "a:{y}", true},
		{"", "{{}}", "{}", true},
		{"", "tpm:{tenant}:{}", "rpm:{tenant}:{}", false},
		{"vip", "user:{}", "user:all", false},
		{"all", "user:{}", "user:all", true},
		{"vip", "user:{}", "{}", false},
		{"a:b", "{x}:{}", "c:a%3Ab", true},
	} {
		op := engine.Op{Verb: engine.SetPolicy, Options: engine.NamedFields, Parts: []engine.Op{{Key: []byte(c.one)}, {Key: []byte(c.other)}}}
		if c.override != "" {
			op.Verb, op.Who = engine.SetOverride, []byte(c.override)
		}
		if one, _ := MeetingKeys(&op); (one != nil) != c.meet {
			t.Errorf("%+v: %s", c, one)
		}
	}
}
