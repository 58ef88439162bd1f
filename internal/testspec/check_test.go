package testspec

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stintdb/stint/internal/testgenerated"
)

var (
	most   = flag.Int("states", 150_000, "visit all states of the models that have at most as many")
	update = flag.Bool("update", false, "write testdata/counterexamples.txt")
)

// Every state that a model can reach keeps its promises.
func TestModels(t *testing.T) {
	visited := 0
	for _, c := range Checks() {
		if c.States > *most {
			continue
		}
		result, err := c.Run("", c.States)
		switch {
		case err != nil:
			t.Errorf("%s: %v", c.Name, err)
		case result.Broken != "":
			t.Errorf("%s: %s:\n%s", c.Name, result.Broken, strings.Join(result.Trail, "\n"))
		case result.States != c.States:
			t.Errorf("%s: %d states were visited, and Checks says %d", c.Name, result.States, c.States)
		}
		visited += result.States
	}
	t.Logf("%d states were visited", visited)
}

// Each bug breaks a promise, in the steps that testdata/counterexamples.txt shows.
func TestMutants(t *testing.T) {
	var page bytes.Buffer
	var found []Bug
	for _, c := range Checks() {
		for _, bug := range c.Bugs {
			result, err := c.Run(bug, 1_000_000)
			if err != nil || result.Broken == "" {
				t.Errorf("%s: %s: nothing breaks: %v", c.Name, bug, err)
			}
			fmt.Fprintf(&page, "Suppose that %s (%s).\n", bug, c.Name)
			for i, name := range result.Trail {
				fmt.Fprintf(&page, "%4d. %s\n", i+1, name)
			}
			fmt.Fprintf(&page, "Then %s.\n\n", result.Broken)
			found = append(found, bug)
		}
	}
	page.Truncate(page.Len() - 1)
	testgenerated.Check(t, "testdata/counterexamples.txt", page.Bytes(), *update, "go test ./internal/testspec -update")
	source, err := os.ReadFile("bug.go")
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(found)
	if all, different := strings.Count(string(source), ` = "`), len(slices.Compact(found)); all != different {
		t.Errorf("bug.go has %d bugs, and %d are checked", all, different)
	}
}

// A counter goes up to 3, and begins again or, with a bug, stays there.
func counter(bug Bug) Model[int8] {
	return Model[int8]{
		Steps: func(s int8, next *Steps[int8]) {
			if s < 3 {
				next.Step(s+1, "from %d to %d", s, s+1)
			}
			if s > 1 && bug == "" {
				next.Step(0, "from %d to 0", s)
			} else {
				next.Fault(0, "from %d to 0 by a fault", s)
			}
		},
		Wrong: func(s int8) string {
			if s == 3 && bug == "3 is wrong" {
				return "3"
			}
			return ""
		},
		Rests: func(s int8) bool { return s == 0 },
	}
}

func TestCheck(t *testing.T) {
	toThree := []string{"from 0 to 1", "from 1 to 2", "from 2 to 3"}
	for _, c := range []struct {
		bug  Bug
		most int
		want Result
		err  string
	}{
		{"", 4, Result{States: 4}, ""},
		{"", 3, Result{}, "there are more than 3 states"},
		{"3 is wrong", 4, Result{4, "3", toThree}, ""},
		{"3 stays", 4, Result{4, neverRests, toThree[:1]}, ""},
	} {
		model := counter(c.bug)
		got, err := model.Check(c.most)
		if fmt.Sprint(got) != fmt.Sprint(c.want) || err != nil && err.Error() != c.err || err == nil && c.err != "" {
			t.Errorf("%q with %d states: %v, %v; want %v, %s", c.bug, c.most, got, err, c.want, c.err)
		}
	}
}
