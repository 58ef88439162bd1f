package docs

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/stintdb/stint/server/transcripttest"
)

// decisionsFile has random requests at times of a clock, with the server's replies. The fakes of the clients play them
// too.
const decisionsFile = "../clients/vectors/decisions.txt"

// TestDecisions plays the decisions against the server. With -update it draws and writes them.
func TestDecisions(t *testing.T) {
	var want string
	if *update {
		want = drawDecisions()
	} else {
		text, err := os.ReadFile(decisionsFile)
		if err != nil {
			t.Fatal(err)
		}
		want = string(text)
	}
	p := newPlayer(t)
	got, err := transcripttest.Replay(want, p)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if *update {
		if err := os.WriteFile(decisionsFile, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if difference := compare(got, want, 0); difference != "" {
		t.Error(difference)
	}
}

// decisionLimits are limits in the form in which the Go client sends them: the words before and after the key, and the
// options.
var decisionLimits = []struct{ command, spec, arguments, options string }{
	{"TB.ACQUIRE", "TB", "20 7/1000ms", "PEEK UPTO FORCE MAXWAIT"},
	{"TB.ACQUIRE", "TB", "5 3/700ms", "PEEK UPTO FORCE MAXWAIT"},
	{"FW.ACQUIRE", "FW", "15 3000ms", "PEEK UPTO FORCE"},
	{"FW.ACQUIRE", "FW", "15 @4000ms", "PEEK UPTO FORCE"},
	{"FW.ACQUIRE", "FW", "40 @minute", "PEEK UPTO FORCE"},
}

const (
	decisionSteps  = 900
	decisionsTitle = "# Random requests, and the server's replies. " +
		"The clock begins on 2 January 2026, 03:04:05 UTC."
)

func drawDecisions() string {
	random := rand.New(rand.NewPCG(18, 2026))
	b := &strings.Builder{}
	fmt.Fprintln(b, decisionsTitle)
	for range decisionSteps {
		if random.IntN(3) == 0 {
			fmt.Fprintf(b, "advance %dms\n", 1+random.IntN(900))
		}
		i := random.IntN(len(decisionLimits))
		l, key, n := decisionLimits[i], fmt.Sprint("k", i), 1+random.IntN(4)
		if random.IntN(20) == 0 {
			n = 100 // more than it can ever grant
		}
		switch draw := random.IntN(20); {
		case draw == 0:
			fmt.Fprintf(b, "> DEL %s\n", key)
		case draw == 1:
			// 100: all that was taken
			fmt.Fprintf(b, "> RL.REFUND %s %d\n", key, []int{n, 100}[random.IntN(2)])
		case draw < 6:
			other := (i + 1 + random.IntN(len(decisionLimits)-1)) % len(decisionLimits)
			o := decisionLimits[other]
			const form = "> RL.ALL %s %s %s COST %d %s k%d %s TOKENS %d\n"
			fmt.Fprintf(b, form, l.spec, key, l.arguments, random.IntN(4), o.spec, other, o.arguments, n)
		default:
			fmt.Fprintf(b, "> %s %s %s %d%s\n", l.command, key, l.arguments, n, drawOption(random, l.options))
		}
	}
	return b.String()
}

// drawOption is one of the options, or none, with a space before it.
func drawOption(random *rand.Rand, options string) string {
	words := strings.Fields(options)
	i := random.IntN(2*len(words) + 1)
	if i >= len(words) {
		return ""
	}
	if words[i] == "MAXWAIT" {
		return fmt.Sprintf(" MAXWAIT %dms", 1+random.IntN(2000))
	}
	return " " + words[i]
}
