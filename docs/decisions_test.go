package docs

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stintdb/stint/server/transcripttest"
)

// decisionFiles have random requests at times of a clock, with the server's replies. The fakes of the clients play them too.
var decisionFiles = map[string]func() string{
	"../clients/vectors/decisions.txt":              drawDecisions,
	"../clients/vectors/decisions-adaptive.txt":     drawAdaptiveDecisions,
	"../clients/vectors/decisions-budgets.txt":      drawBudgetDecisions,
	"../clients/vectors/decisions-reservations.txt": drawReservedDecisions,
}

// TestDecisions plays the decisions against the server. With -update it draws and writes them.
func TestDecisions(t *testing.T) {
	for file, draw := range decisionFiles {
		t.Run(filepath.Base(file), func(t *testing.T) { playDecisions(t, file, draw) })
	}
}

func playDecisions(t *testing.T, file string, draw func() string) {
	var want string
	if *update {
		want = draw()
	} else {
		text, err := os.ReadFile(file)
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
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if difference := compare(got, want, 0); difference != "" {
		t.Error(difference)
	}
}

// decisionLimits are limits in the form in which the Go client sends them: the words before and behind the key, and the options.
var decisionLimits = []struct{ command, spec, arguments, options string }{
	{"TB.ACQUIRE", "TB", "20 7/1000ms", "PEEK UPTO FORCE MAXWAIT"},
	{"TB.ACQUIRE", "TB", "5 3/700ms", "PEEK UPTO FORCE MAXWAIT"},
	{"LB.QUEUE", "LQ", "6 9/2000ms", "PEEK"},
	{"CL.THROTTLE", "CL", "9 5 3", ""},
	{"FW.ACQUIRE", "FW", "15 3000ms", "PEEK UPTO FORCE"},
	{"FW.ACQUIRE", "FW", "15 @4000ms", "PEEK UPTO FORCE"},
	{"FW.ACQUIRE", "FW", "40 @minute", "PEEK UPTO FORCE"},
	{"SW.ACQUIRE", "SW", "15 3000ms", "PEEK UPTO FORCE"},
	{"SL.ACQUIRE", "SL", "15 3000ms", "PEEK UPTO FORCE"},
}

const (
	decisionSteps  = 900
	decisionsTitle = "# Random requests, and the server's replies. The clock begins on 2 January 2026, 03:04:05 UTC."
)

func drawAdaptiveDecisions() string {
	random := rand.New(rand.NewPCG(19, 2026))
	b := &strings.Builder{}
	fmt.Fprintln(b, decisionsTitle)
	for range decisionSteps {
		if random.IntN(3) > 0 {
			fmt.Fprintf(b, "advance %dms\n", 1+random.IntN(400))
		}
		if random.IntN(200) == 0 {
			fmt.Fprintln(b, "advance 11m")
		}
		key, limit := "a", "20 2/1000ms 50/1000ms"
		switch random.IntN(4) {
		case 0:
			key, limit = "b", "30 7/700ms 90/700ms"
		case 1:
			limit = []string{limit, limit, "40 5/2000ms 80/2000ms"}[random.IntN(3)]
		}
		switch random.IntN(12) {
		case 0, 1, 2:
			fmt.Fprintf(b, "> AD.REPORT %s %d %d%s\n", key, random.IntN(3), random.IntN(8)/6, drawReport(random))
		case 3:
			fmt.Fprintf(b, "> RL.REFUND %s %d\n", key, 1+random.IntN(5))
		default:
			fmt.Fprintf(b, "> AD.ACQUIRE %s %s %d%s\n", key, limit, 1+random.IntN(12), drawOption(random, "PEEK MAXWAIT"))
		}
	}
	return b.String()
}

// drawReport is some options of a report.
func drawReport(random *rand.Rand) (text string) {
	for _, option := range []string{"EVERY 500ms", "DOWN 33.3%", "UP 12.5%"} {
		if random.IntN(3) == 0 {
			text += " " + option
		}
	}
	if random.IntN(8) == 0 {
		text += fmt.Sprintf(" PAUSE %dms", 1+random.IntN(700))
	}
	return text
}

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
		case draw == 1 && l.spec != "SW" && l.spec != "SL":
			fmt.Fprintf(b, "> RL.REFUND %s %d\n", key, []int{n, 100}[random.IntN(2)]) // 100: all that was taken
		case draw < 6:
			other := (i + 1 + random.IntN(len(decisionLimits)-1)) % len(decisionLimits)
			o := decisionLimits[other]
			fmt.Fprintf(b, "> RL.ALL %s %s %s COST %d %s k%d %s TOKENS %d\n", l.spec, key, l.arguments, random.IntN(4), o.spec, other, o.arguments, n)
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
