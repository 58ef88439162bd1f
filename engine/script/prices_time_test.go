package script

import (
	"maps"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stintdb/stint/internal/testsize"
)

// mostOfPlain is how much more CPU than the plainest loop a script may take until the budget ends. That loop takes some
// 4 ms. On a quiet machine none takes more than four times as much; beside other programs, those that copy long texts
// wait for memory.
const mostOfPlain = 8

// TestBudgetBoundsTime does again and again, until the budget ends, what a script can do with its dearest arguments. By
// night, on a machine with nothing else to do, no run may take much longer than one of the plainest loop, and no
// compiling of one of the longest sources.
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
				if testsize.IsNightly() && timesPlain(script, 1) > mostOfPlain {
					t.Errorf("%s %s takes %d times the CPU of the plainest loop: %.100s", name, form, mostOfPlain, statement)
				}
			}
		}
	}
	for _, source := range longSources {
		// The largest that --max-bulk-size lets through by default. The budget of compiling is the whole one.
		if testsize.IsNightly() && timesPlain(source.text(64_000), 4) > mostOfPlain {
			t.Errorf("%s takes %d times the CPU of the plainest loop", source.name, mostOfPlain)
		}
	}
}

// timesPlain is the CPU time of compiling a script and running it within a quarter of the budget, in times of that of a
// number of the plainest loops: the least of some measurements, up to one that is good enough.
func timesPlain(script string, loops float64) (times float64) {
	for i := 0; i < 5 && (i == 0 || times > mostOfPlain); i++ {
		plain, took := cpuOf(`while true do end`), cpuOf(script)
		if ratio := took / (loops * plain); i == 0 || ratio < times {
			times = ratio
		}
	}
	return times
}

// cpuOf is the CPU time of runOnce in milliseconds.
func cpuOf(script string) (ms float64) {
	before := cpuMilliseconds()
	runOnce(script)
	return cpuMilliseconds() - before
}

// runOnce compiles a script and runs it within a quarter of the budget.
func runOnce(script string) (reply []byte) {
	if program, err := Compile([]byte(script)); err == nil {
		reply = program.runWithin(Budget/4, nil, nil, nil, newMemory())
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
