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

// A decisionLimit is a limit in the form in which the Go client sends it: the words before and after the key, its own
// options, and those of its command.
type decisionLimit struct{ command, spec, arguments, own, options string }

var (
	plainLimits = []decisionLimit{
		{"TB.ACQUIRE", "TB", "20 7/1000ms", "", "PEEK UPTO FORCE MAXWAIT"},
		{"TB.ACQUIRE", "TB", "5 3/700ms", "", "PEEK UPTO FORCE MAXWAIT"},
		{"FW.ACQUIRE", "FW", "15 3000ms", "", "PEEK UPTO FORCE"},
		{"FW.ACQUIRE", "FW", "15 @4000ms", "", "PEEK UPTO FORCE"},
		{"FW.ACQUIRE", "FW", "40 @minute", "", "PEEK UPTO FORCE"},
	}
	furtherLimits = []decisionLimit{
		{"FW.ACQUIRE", "FW", "15 @3000ms", "", "PEEK UPTO"},
		{"TB.ACQUIRE", "TB", "20 7/1000ms", "", "PEEK UPTO"},
		{"FW.ACQUIRE", "FW", "12 @2000ms", "ROLLOVER 50%", "PEEK UPTO FORCE"},
		{"FW.ACQUIRE", "FW", "9 @900ms", "ROLLOVER 30%", "PEEK UPTO FORCE"},
		{"SW.ACQUIRE", "SW", "12 2000ms", "SEGMENTS 4", "PEEK UPTO FORCE"},
		{"SW.ACQUIRE", "SW", "20 3000ms", "SEGMENTS 7", "PEEK UPTO FORCE"},
		{"BAL.ACQUIRE", "BAL", "", "", "PEEK UPTO FORCE"}, // the last, as RL.ALL wants it
	}
)

const (
	decisionSteps  = 900
	furtherSteps   = 900
	decisionsTitle = "# Random requests, and the server's replies. " +
		"The clock begins on 2 January 2026, 03:04:05 UTC."
)

func drawDecisions() string {
	b := &strings.Builder{}
	fmt.Fprintln(b, decisionsTitle)
	drawRequests(b, rand.New(rand.NewPCG(18, 2026)), plainLimits, "k", decisionSteps)
	fmt.Fprintln(b, "# Windows of which a part rolls over, segments, and credits beyond a plan.")
	drawRequests(b, rand.New(rand.NewPCG(19, 2026)), furtherLimits, "f", furtherSteps)
	return b.String()
}

// drawRequests draws requests of some limits, each of its key.
func drawRequests(b *strings.Builder, random *rand.Rand, limits []decisionLimit, prefix string, steps int) {
	last := len(limits) - 1
	hasCredits := limits[last].spec == "BAL"
	for range steps {
		if random.IntN(3) == 0 {
			fmt.Fprintf(b, "advance %dms\n", 1+random.IntN(900))
		}
		i := random.IntN(len(limits))
		l, key, n := limits[i], fmt.Sprint(prefix, i), 1+random.IntN(4)
		if random.IntN(20) == 0 {
			n = 100 // more than it can ever grant
		}
		if hasCredits && random.IntN(4) == 0 {
			drawCredits(b, random, limits, prefix, n)
			continue
		}
		switch draw := random.IntN(20); {
		case draw == 0:
			fmt.Fprintf(b, "> DEL %s\n", key)
		case draw == 1:
			// 100: all that was taken
			fmt.Fprintf(b, "> RL.REFUND %s %d\n", key, []int{n, 100}[random.IntN(2)])
		case draw < 6:
			other := (i + 1 + random.IntN(len(limits)-1)) % len(limits)
			if hasCredits && i == last {
				i, other = other, i
			}
			first, second := specOf(limits, prefix, i), specOf(limits, prefix, other)
			writeCommand(b, "RL.ALL", first, "COST", random.IntN(4), second, "TOKENS", n)
		default:
			writeCommand(b, l.command, key, l.arguments, n, l.own, drawOption(random, l.options))
		}
	}
}

// drawCredits draws a payment, a look at the credits, or a request whose rest the credits give.
func drawCredits(b *strings.Builder, random *rand.Rand, limits []decisionLimit, prefix string, n int) {
	last := len(limits) - 1
	key := fmt.Sprint(prefix, last)
	switch random.IntN(6) {
	case 0:
		writeCommand(b, "BAL.ADD", key, n, "AS", fmt.Sprint("payment:", random.IntN(60)))
	case 1:
		writeCommand(b, "BAL.INFO", key)
	default:
		i := random.IntN(last)
		other := (i + 1 + random.IntN(last-1)) % last
		fixed := []string{"COST 1", "COST 0", "", ""}[random.IntN(4)]
		split := []string{"SPLIT", ""}[random.IntN(2)]
		plan := []any{"RL.ALL", specOf(limits, prefix, i), specOf(limits, prefix, other), fixed, "ELSE", specOf(limits, prefix, last)}
		writeCommand(b, append(plan, "TOKENS", n+random.IntN(12), split)...)
	}
}

// specOf is a limit and its key as RL.ALL takes them.
func specOf(limits []decisionLimit, prefix string, i int) string {
	l := limits[i]
	return fmt.Sprint(l.spec, " ", prefix, i, " ", l.arguments, " ", l.own)
}

// writeCommand writes the words of a command.
func writeCommand(b *strings.Builder, words ...any) {
	fmt.Fprintln(b, ">", strings.Join(strings.Fields(fmt.Sprintln(words...)), " "))
}

// drawOption is one of the options, or none.
func drawOption(random *rand.Rand, options string) string {
	words := strings.Fields(options)
	i := random.IntN(2*len(words) + 1)
	if i >= len(words) {
		return ""
	}
	if words[i] == "MAXWAIT" {
		return fmt.Sprintf("MAXWAIT %dms", 1+random.IntN(2000))
	}
	return words[i]
}
