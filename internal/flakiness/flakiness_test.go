// Package flakiness finds tests that pass or fail by chance. It has nothing but tests: rules, one for each way in which
// chance comes in, the places that they permit, and snippets of code which each rule must find or accept.
package flakiness

import (
	"fmt"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// A rule finds a way in which a test can pass or fail by chance, in tests of all languages.
type rule struct {
	name   string
	remedy string
	inGo   func(p *goPackage, f *function, report func(at token.Pos, what string)) // called for functions that run by the machine's clock
	inText func(f textFile, report func(line int, what string))
}

var rules = []rule{
	{name: "time", inGo: timeDecides, inText: timeDecidesInText,
		remedy: "Log the figure, assert what is behind it (who answered, what woke the waiter), wait by internal/testwait, or run in a synctest bubble; bounds on speed belong in benchmarks"},
	{name: "cpu", inGo: measuresCPU,
		remedy: "CPU time varies with what else runs: count operations, allocations or bytes; bounds on CPU time belong in benchmarks"},
	{name: "timeout", inGo: shortTimeouts, inText: shortTimeoutsInText,
		remedy: "A busy machine exceeds this: take testwait.Limit, testwait.Deadline or testwait.Until, or a synctest bubble if the end of the time is what the test is about"},
	{name: "sleep", inGo: sleeps, inText: sleepsInText,
		remedy: "Wait for the condition by internal/testwait, or run in a synctest bubble"},
	{name: "port", inGo: freePorts, inText: freePortsInText,
		remedy: "Let the server listen on port 0 and read its address from its output; where others must know the address first, take testserver.ReserveAddress"},
	{name: "child", inGo: unboundChildren,
		remedy: "Start it by the module's helper, which ends it with the test, or by exec.CommandContext with t.Context() and WaitDelay"},
	{name: "pipe", inText: readersThatEnd,
		remedy: "The writer fails if it writes more after its reader has ended, which pipefail makes a failure of the script, now and then: take a reader that reads to the end, such as sed -n 1,10p or grep >/dev/null"},
	{name: "idle", inGo: closedAsIdle,
		remedy: "Set IdleTimeout, to 0 if it is not the subject: the clock moves by hours, and the server may look for idle connections before the next request reaches it"},
	{name: "seed", inGo: unseeded, inText: unseededInText,
		remedy: "Take rand.New(rand.NewPCG(seed, …)) with testsize.Seed() or a fixed seed, and print it"},
	{name: "click", inGo: clicksElsewhere,
		remedy: "Take the tab's click, which finds the element and clicks it in one step"},
}

// A permit is a place that a rule does not apply to.
type permit struct {
	rules  string // with spaces between
	place  string // file, file:function, or a folder with / at its end
	reason string
}

// finding is a place that a rule found.
type finding struct {
	rule     *rule
	file     string
	function string
	line     int
	what     string
}

func (f finding) String() string {
	return fmt.Sprintf("%s:%d: %s [%s]\n\t%s; or add a row to permits with the reason", f.file, f.line, f.what, f.rule.name, f.rule.remedy)
}

func (p permit) covers(f finding) bool {
	return slices.Contains(strings.Fields(p.rules), f.rule.name) && (p.place == f.file || p.place == f.file+":"+f.function || strings.HasSuffix(p.place, "/") && strings.HasPrefix(f.file, p.place))
}

// TestNothingIsLeftToChance applies the rules to every test of the repository.
func TestNothingIsLeftToChance(t *testing.T) {
	packages, texts := testSources()
	if len(packages) < 40 || len(texts) < 30 {
		t.Errorf("only %d packages and %d files in other languages were looked at", len(packages), len(texts))
	}
	used := make([]bool, len(permits))
	for _, f := range findFlakiness(packages, texts) {
		permitted := false
		for i, p := range permits {
			if p.covers(f) {
				permitted, used[i] = true, true
			}
		}
		if !permitted {
			t.Error(f)
		}
	}
	for i, p := range permits {
		if !used[i] {
			t.Errorf("the permit for %s [%s] permits nothing: delete it", p.place, p.rules)
		}
	}
}

// findFlakiness applies all rules.
func findFlakiness(packages []*goPackage, texts []textFile) (all []finding) {
	for i := range rules {
		rule := &rules[i]
		for _, p := range packages {
			for j := range p.functions {
				f := &p.functions[j]
				if f.isReal && rule.inGo != nil {
					rule.inGo(p, f, func(at token.Pos, what string) {
						all = append(all, finding{rule, f.file.name, f.name, p.set.Position(at).Line, what})
					})
				}
			}
		}
		for _, f := range texts {
			if rule.inText != nil {
				rule.inText(f, func(line int, what string) { all = append(all, finding{rule, f.name, "", line, what}) })
			}
		}
	}
	return all
}
