package command

import (
	"strings"
	"testing"
)

func TestLatencyGraph(t *testing.T) {
	const now = 1_000_000
	for _, c := range []struct {
		name    string
		history []Spike
		longest int64
		want    string
	}{
		{"rising and falling", []Spike{{now - 90_000, 50}, {now - 7_200, 12}, {now - 125, 30}, {now - 12, 40}}, 70, `
command - high 50 ms, low 12 ms (all time high 70 ms)
--------------------------------------------------------------------------------
#   
|  #
| #|
|_||

1221
dhm2
   s
`},
		{"all the same", []Spike{{now - 2, 5}, {now, 5}}, 5, `
command - high 5 ms, low 5 ms (all time high 5 ms)
--------------------------------------------------------------------------------
  
  
  
__

20
ss
`},
	} {
		if got := latencyGraph("command", c.history, c.longest, now); got != c.want[1:] {
			t.Errorf("%s:\n%s", c.name, got)
		}
	}
	many := make([]Spike, 160)
	for i := range many {
		many[i] = Spike{int64(now - 160 + i), int64(i)}
	}
	for line := range strings.Lines(latencyGraph("command", many, 159, now)) {
		if len(line) > graphColumns+1 {
			t.Errorf("%d columns: %s", len(line)-1, line)
		}
	}
}
