//go:build e2e

package stint_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/stintdb/stint/internal/testprocess"
	"github.com/stintdb/stint/internal/testwait"
)

// ciRun prepares a copy of .ci/run with these steps in place of the project's.
func ciRun(t *testing.T, steps string) (run *exec.Cmd, folder string) {
	t.Helper()
	program, err := os.ReadFile(".ci/run")
	if err != nil {
		t.Fatal(err)
	}
	folder = t.TempDir()
	if err := os.Mkdir(filepath.Join(folder, ".ci"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"run": string(program), "steps.sh": steps, "tools.sh": ""} {
		if err := os.WriteFile(filepath.Join(folder, ".ci", name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), testwait.Limit)
	t.Cleanup(cancel)
	run = testprocess.Command(ctx, "bash", filepath.Join(folder, ".ci", "run"))
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "CI_") {
			run.Env = append(run.Env, variable)
		}
	}
	return run, folder
}

// A change passes if all of its steps do. Anything else fails it, shows why, and leaves nothing running.
func TestRunOfSteps(t *testing.T) {
	const rows = `readonly steps=(
		"first   tools: install"
		"side    one:   first of the queue"
		"side    two:   second of the queue"
		"alone   last:  by itself"
		"night   never: by night"
	)
	step_tools() { :; }
	step_one() { :; }
	step_two() { :; }
	step_last() { echo "last has run"; }
	step_never() { echo "never has run"; }
	`
	// printf stands for the go command, and prints its output.
	goPrints := func(output string) string { return rows + "step_two() { watched printf -- '" + output + "'; }" }
	for _, test := range []struct {
		name, steps string
		passes      bool
		want        string // a pattern of the output
	}{
		{"all pass", rows, true, `(?s)== tools: .*== (one|two): .*== last: by itself: passed .*last has run.*seconds of each step.* s of CPU  one.*== passed`},
		{"a test passes", goPrints(`=== RUN TestA\n--- PASS: TestA (1.50s)\nok a 2s\n`), true, `(?s)ten slowest tests\n1.50 s  TestA \(two, `},
		{"many tests pass", rows + `step_two() { seq 100000 >"$CI_RECORD/tests"; }`, true, `(?s)ten slowest tests\n100000\n99999\n.*== passed`},
		{"a step fails", rows + `step_one() { echo "because of this"; false; }`, false, `(?s)== one: first of the queue: FAILED .*because of this.*failed after`},
		{"no test runs", goPrints(`ok a 2s\n`), false, `no test ran`},
		{"a test is skipped", goPrints(`--- PASS: TestA (0.00s)\n--- SKIP: TestB (0.00s)\nok a 2s\n`), false, `a test was skipped`},
		{"a step never ends", rows + `step_one() { sleep 1000; }`, false, `(?s)== one: .*FAILED.*sending signal`},
		{"a step leaves a process", rows + `step_two() { (sleep 1000 & echo $! > left; until grep -q sleep /proc/$!/cmdline; do :; done); }`, false, `(?s)== two: .*FAILED.*left processes running.*sleep 1000`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			run, folder := ciRun(t, test.steps)
			run.Env = append(run.Env, "CI_STEP_LIMIT=10s")
			output, err := run.CombinedOutput()
			if passed := err == nil; passed != test.passes || !regexp.MustCompile(test.want).Match(output) {
				t.Errorf("passed: %t (%v), wanted output that matches %q:\n%s", passed, err, test.want, output)
			}
			if strings.Contains(string(output), "last has run") != test.passes || strings.Contains(string(output), "never has run") {
				t.Errorf("steps of a change that passes, and only those, run to the last, and none of the night:\n%s", output)
			}
			mustHaveEnded(t, filepath.Join(folder, "left"))
		})
	}
}

// A step that runs alone has its tools, also on a machine that nothing has prepared; a whole run installs them once.
func TestStepAloneHasItsTools(t *testing.T) {
	const rows = `readonly steps=("first tools: install" "side one: needs a tool")
	step_tools() { [[ ! -e tool ]]; touch tool; }
	step_one() { [[ -e tool ]]; echo "the tool is there"; }`
	for _, names := range [][]string{nil, {"one"}, {"one", "one"}} {
		run, _ := ciRun(t, rows)
		run.Args = append(run.Args, names...)
		if output, err := run.CombinedOutput(); err != nil || !strings.Contains(string(output), "the tool is there") {
			t.Errorf(".ci/run %v: %v:\n%s", names, err, output)
		}
	}
}

// A run that is ended ends its steps.
func TestRunThatIsEnded(t *testing.T) {
	run, folder := ciRun(t, `readonly steps=("first long: a long one")
	step_long() { echo $$ > left; echo "came this far"; setsid sleep 1000 & echo $! >> left; wait; }`)
	var output strings.Builder
	run.Stdout, run.Stderr = &output, &output
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	left := filepath.Join(folder, "left")
	testwait.Until(t, "the step has started its process", func() bool {
		text, _ := os.ReadFile(left)
		return strings.Count(string(text), "\n") == 2
	})
	if err := run.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := testprocess.Wait(run); err == nil || !strings.Contains(output.String(), "came this far") {
		t.Errorf("%v, wanted a failure that shows how far the step came:\n%s", err, output.String())
	}
	mustHaveEnded(t, left)
}

// mustHaveEnded checks that the processes whose ids are in a file have ended.
func mustHaveEnded(t *testing.T, name string) {
	t.Helper()
	ids, _ := os.ReadFile(name) // most steps leave none
	for _, id := range strings.Fields(string(ids)) {
		testwait.Until(t, "process "+id+" has ended", func() bool {
			status, err := os.ReadFile("/proc/" + id + "/stat")
			return err != nil || strings.Contains(string(status), ") Z ")
		})
	}
}
