//go:build e2e

package script

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stintdb/stint/internal/testsize"
)

// differs lists texts of replies that are known to differ: addresses, the sign of NaN, RESP3 in scripts, the budget.
var differs = []string{"nan", "0x", "table: ", "function: ", "setresp(3)", "budget"}

// TestGenerated runs the same generated scripts here and on a real Redis: expressions, and programs of statements.
func TestGenerated(t *testing.T) {
	redis := startRedis(t)
	g := generator{rand.New(rand.NewPCG(1, 2))}
	count := testsize.Pick(10000, 1000000)
	compare := func(body string) (same bool) {
		redis.Call(nil, [][]byte{[]byte("FLUSHALL")}, nil)
		want := redis.eval(body, testKeys, testArgs)
		got := eval(body, newMemory())
		for _, text := range differs {
			if bytes.Contains(want, []byte(text)) || bytes.Contains(got, []byte(text)) {
				return true
			}
		}
		if same = bytes.Equal(got, want); !same {
			t.Logf("%s\nreplied %.300q\nRedis   %.300q", body, got, want)
		}
		return same
	}
	for name, write := range map[string]func() string{"expressions": g.script, "programs": g.program} {
		failures := 0
		for range count {
			body := write()
			if !strings.Contains(body, "assert({") && !strings.Contains(body, "random") && !compare(body) {
				failures++
			}
		}
		if failures > count/1000 { // names in rare error texts
			t.Errorf("%d of %d %s differ", failures, count, name)
		}
	}
}
