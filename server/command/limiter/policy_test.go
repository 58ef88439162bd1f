package limiter

import (
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
)

// A policy's limit is shown in a form that can be typed again.
func TestSpecText(t *testing.T) {
	limit := limits.Limit{Algorithm: limits.Concurrency, Capacity: 2, Rate: limits.Rate{Period: 60e9}}
	for _, c := range []struct{ key, who, want string }{
		{"jobs:{}", "{}", "CC jobs:{} 2 1m {}"},
		{"a b", "", `CC "a b" 2 1m ""`},
		{`say "x"\`, "it's", `CC "say \"x\"\\" 2 1m "it's"`},
		{"\x00é", "~", `CC "\x00\xc3\xa9" 2 1m ~`},
	} {
		if got := SpecText(engine.Op{Limit: limit, Key: []byte(c.key), Who: []byte(c.who)}); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}
