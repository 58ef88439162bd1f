//go:build e2e

package compattest

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stintdb/stint/internal/testprocess"
	"github.com/stintdb/stint/internal/testserver"
)

var upstream = flag.String("upstream", "github.com/ulule/limiter/v3",
	"libraries whose own tests run on Redis and on Stint, with commas between; all every night")

// An upstreamSuite is the tests that a limiter library's released package carries. In edits, env and run, $PORT
// stands for the server's port, and $RESULTS for the file into which a run writes its results.
type upstreamSuite struct {
	library string
	from    registry
	needs   []string          // packages that only the tests import
	edits   []edit            // where the tests name a server, and settings that a free machine does not need
	env     []string          // of the run
	run     []string          // the command, in the library's folder
	leftOut string            // tests that are not run, and the reason
	differs map[string]string // tests that pass on Redis only, and the reason
}

// An edit replaces a text wherever it is in the files of a pattern.
type edit struct{ files, old, new string }

const (
	// suitePatience bounds one run of one suite.
	suitePatience = 10 * time.Minute
	// rounds bounds the runs on each server. Many of the tests compare times, and fail now and then on Redis too.
	rounds = 3
)

// TestUpstreamSuites fails if a library's test passes in each run on Redis and in none on Stint.
func TestUpstreamSuites(t *testing.T) {
	neverCached(t)
	program := testserver.Build(t, filepath.Join("..", ".."))
	chosen := strings.Split(*upstream, ",")
	ran := 0
	for _, s := range upstreamSuites {
		if *upstream == "all" || slices.Contains(chosen, s.library) {
			ran++
			t.Run(s.library, func(t *testing.T) { s.test(t, program) })
		}
	}
	if ran == 0 || *upstream != "all" && ran != len(chosen) {
		t.Errorf("-upstream %s: %d of these libraries are in upstreamSuites", *upstream, ran)
	}
}

func (s upstreamSuite) test(t *testing.T, program string) {
	version, folder := s.from.fetch(t, s.library, s.needs)
	var onRedis, open []string // tests that passed in each run on Redis, and those of them that passed in none on Stint
	failures := map[string]string{}
	for round := range rounds {
		outcomes := s.outcomes(t, folder, startRedis(t))
		if round == 0 {
			onRedis = passed(outcomes)
			open = slices.Clone(onRedis)
		}
		fails := func(name string) bool { return !passes(outcomes, name) }
		onRedis, open = slices.DeleteFunc(onRedis, fails), slices.DeleteFunc(open, fails)
		if len(onRedis) == 0 {
			t.Fatalf("no test passes on Redis: %.4000s", fmt.Sprint(outcomes))
		}
		onStint := s.outcomes(t, folder, testserver.Start(t, program, "--admin", ""))
		open = slices.DeleteFunc(open, func(name string) bool { return passes(onStint, name) })
		maps.Copy(failures, onStint)
		if !slices.ContainsFunc(open, func(name string) bool { return s.differs[name] == "" }) {
			break
		}
		t.Logf("not yet passed on Stint: %q", open)
	}
	for _, name := range open {
		if s.differs[name] == "" {
			t.Errorf("%s passes on Redis, but not on Stint: %.1000s", name, failures[name])
		}
	}
	for name := range s.differs {
		if slices.Contains(onRedis, name) && !slices.Contains(open, name) {
			t.Errorf("%s passes on Stint: remove it from differs", name)
		}
	}
	t.Logf("%s %s: %d tests pass on Redis, and %d of these on Stint", s.library, version, len(onRedis), len(onRedis)-len(open))
	if s.leftOut != "" {
		t.Logf("left out: tests %s", s.leftOut)
	}
	s.checkPage(t, version, len(onRedis), len(onRedis)-len(open))
}

// outcomes runs the tests in a copy of the library and returns the error of each, "" if it passed.
func (s upstreamSuite) outcomes(t *testing.T, library, address string) map[string]string {
	folder, err := os.MkdirTemp(filepath.Dir(library), "run-") // beside node_modules
	if err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(folder, os.DirFS(library)); err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	results := filepath.Join(t.TempDir(), "results")
	fill := strings.NewReplacer("$PORT", port, "$RESULTS", results)
	for _, e := range s.edits {
		e.apply(t, folder, fill)
	}
	ctx, cancel := context.WithTimeout(t.Context(), suitePatience)
	defer cancel()
	var run []string
	for _, word := range s.run {
		run = append(run, fill.Replace(word))
	}
	command := testprocess.Command(ctx, run[0], run[1:]...)
	command.Dir, command.Env = folder, os.Environ()
	for _, variable := range s.env {
		command.Env = append(command.Env, fill.Replace(variable))
	}
	output, err := command.CombinedOutput() // an error if a test failed
	outcomes := s.from.outcomes(output, results)
	if len(outcomes) == 0 || ctx.Err() != nil {
		t.Fatalf("%s: %v: no test ran, or not all\n%s", command, err, output[max(0, len(output)-4000):])
	}
	return outcomes
}

func (e edit) apply(t *testing.T, folder string, fill *strings.Replacer) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, e.files))
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), e.old) {
			continue
		}
		found = true
		if err := os.WriteFile(file, []byte(strings.ReplaceAll(string(text), e.old, fill.Replace(e.new))), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if !found {
		t.Fatalf("no file %s has the text %q", e.files, e.old)
	}
}

func passes(outcomes map[string]string, name string) bool {
	outcome, ran := outcomes[name]
	return ran && outcome == ""
}

func passed(outcomes map[string]string) (names []string) {
	for name, outcome := range outcomes {
		if outcome == "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
