package script

import (
	"maps"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stintdb/stint/internal/testsize"
)

// roundsPerStep is the time that a step pays for, in rounds of [rounds]: about 13 ns where a round takes 1.1 ns. It was
// measured as the time of a step of "while true do end" when prices were first fixed. It does not depend on how scripts
// are executed, so that a faster interpreter changes no price.
const roundsPerStep = 12

// mostOfPaid is how much more CPU time a script may take than its steps pay for. On a quiet machine no script takes more
// than four times as much; beside other programs, scripts that copy long texts wait for memory.
const mostOfPaid = 8

// TestBudgetBoundsTime does again and again, until the budget ends, what a script can do with its dearest arguments. By night, on a machine
// with nothing else to do, no run may take much longer than its steps pay for, and no compiling of one of the longest sources.
func TestBudgetBoundsTime(t *testing.T) {
	i, every := 0, testsize.Pick(20, 1)
	for _, name := range slices.Sorted(maps.Keys(dearest)) {
		for _, statement := range dearest[name] {
			if i++; i%every != 0 {
				continue
			}
			nested := with(`local function g() ` + statement + ` end while true do pcall(g) end`)
			if reply := runOnce(nested); !strings.HasPrefix(string(reply), "-"+BudgetError) {
				t.Errorf("%s ends with %.100q: %.100s", name, reply, statement)
			}
			for form, script := range map[string]string{"alone": with(`while true do ` + statement + ` end`), "nested": nested} {
				if testsize.IsNightly() && timesPaid(script, Budget/4) > mostOfPaid {
					t.Errorf("%s %s takes more than %d times the CPU that its steps pay for: %.100s", name, form, mostOfPaid, statement)
				}
			}
		}
	}
	for _, source := range longSources {
		// Longer sources end the budget too. The budget of compiling is the whole one.
		if testsize.IsNightly() && timesPaid(source.text(64_000), Budget) > mostOfPaid {
			t.Errorf("%s takes more than %d times the CPU that its steps pay for", source.name, mostOfPaid)
		}
	}
}

// timesPaid is the CPU time of compiling a script and running it within a quarter of the budget, in times of what a number
// of steps pays for: the least of some measurements, up to one that is good enough.
func timesPaid(script string, steps int) (times float64) {
	for i := 0; i < 5 && (i == 0 || times > mostOfPaid); i++ {
		before := cpuMilliseconds()
		rounds(steps * roundsPerStep)
		paid := cpuMilliseconds() - before
		if ratio := cpuOf(script) / paid; i == 0 || ratio < times {
			times = ratio
		}
	}
	return times
}

// rounds multiplies and adds, each time with the result of the round before: so the time of a round is a latency of the
// processor, and depends neither on memory nor on how Go was compiled.
func rounds(n int) {
	x := uint64(n)
	for range n {
		x = x*6364136223846793005 + 1442695040888963407
	}
	lastRound = x
}

var lastRound uint64 // keeps the compiler from leaving out the rounds

// cpuOf is the CPU time of runOnce in milliseconds.
func cpuOf(script string) (ms float64) {
	before := cpuMilliseconds()
	runOnce(script)
	return cpuMilliseconds() - before
}

// runOnce compiles a script and runs it within a quarter of the budget.
func runOnce(script string) (reply []byte) {
	if program, err := Compile([]byte(script)); err == nil {
		reply = program.runWithin(Budget/4, nil, true, nil, nil, newMemory())
	}
	return reply
}

func cpuMilliseconds() float64 {
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		panic(err)
	}
	return float64(use.Utime.Nano()+use.Stime.Nano()) / 1e6
}
