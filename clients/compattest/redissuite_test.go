//go:build e2e

package compattest

import (
	"context"
	"flag"
	"maps"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stintdb/stint/internal/testprocess"
	"github.com/stintdb/stint/internal/testserver"
)

var redisSuite = flag.String("redis-suite", "unit/type/incr", "units of Redis's own tests to run on Redis and on Stint, with commas between, or all; all every night")

// redisUnits are the units of Redis's own tests for the families of commands that Stint has. That of scripts is not among them: it runs each script
// as a function first, outside of its tests.
var redisUnits = []string{
	"unit/type/string", "unit/type/incr", "unit/type/list", "unit/type/list-3", "unit/type/set", "unit/type/zset", "unit/type/hash",
	"unit/keyspace", "unit/scan", "unit/expire", "unit/multi", "unit/pubsub", "unit/protocol", "unit/quit", "unit/tracking",
}

// redisDiffers has the tests of a unit that pass on Redis only, a line each, below a line with the reason.
const redisDiffers = "testdata/redis-suite.txt"

// unitPatience bounds a run of one unit, and Tcl's own bound, in seconds without any news, lies below it.
const (
	unitPatience = 10 * time.Minute
	newsPatience = "240"
)

// TestRedisSuite runs Redis's own tests, unmodified, and fails if one passes on Redis and not on Stint, and is not among the
// known differences, or if one of these passes.
func TestRedisSuite(t *testing.T) {
	neverCached(t)
	units := redisUnits
	if *redisSuite != "all" {
		units = strings.Split(*redisSuite, ",")
	}
	require(t, "tclsh", "Tcl")
	folder := fetchRedis(t)
	program := testserver.Build(t, filepath.Join("..", ".."))
	known := readDifferences(t)
	for _, unit := range units {
		t.Run(unit, func(t *testing.T) {
			onRedis := runUnit(t, folder, unit, startRedis(t), known.skipped)
			onStint := runUnit(t, folder, unit, harnessProxy(t, testserver.Start(t, program, "--admin", "", "--max-args", "1048576")), known.skipped)
			names := passed(onRedis)
			if len(names) == 0 {
				t.Fatalf("no test passes on Redis: %q", onRedis)
			}
			same, without := 0, 0
			for _, name := range names {
				switch reason, differs := known.reasons[unit+": "+name]; {
				case passes(onStint, name):
					same++
					if differs {
						t.Errorf("%s passes on Stint: remove it from %s", name, redisDiffers)
					}
				case known.lacks(onStint[name]):
					without++
				case !differs:
					failure, ran := onStint[name]
					t.Errorf("%q passes on Redis, but not on Stint: ran: %v, %.300s", name, ran, failure)
				default:
					t.Logf("%s: %s", name, reason)
				}
			}
			t.Logf("%s: %d tests pass on Redis, and %d of these on Stint; %d send commands that it has not", unit, len(names), same, without)
		})
	}
}

// redisSources are where the source package of Debian's redis-server is.
const redisSources = `deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian bookworm main
deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian-security bookworm-security main
`

// fetchRedis returns a folder with that source package, which carries the tests.
func fetchRedis(t *testing.T) string {
	require(t, "apt-get", "Debian's apt")
	folder := t.TempDir()
	list := filepath.Join(folder, "sources.list")
	for _, made := range []string{"lists/partial", "cache/archives/partial"} {
		if err := os.MkdirAll(filepath.Join(folder, made), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(list, []byte(redisSources), 0o644); err != nil {
		t.Fatal(err)
	}
	apt := []string{"apt-get", "-q", "-o", "Dir::Etc::sourcelist=" + list, "-o", "Dir::Etc::sourceparts=/dev/null", "-o", "APT::Sandbox::User=root",
		"-o", "Dir::State::lists=" + filepath.Join(folder, "lists"), "-o", "Dir::Cache=" + filepath.Join(folder, "cache")}
	inFolder(t, folder, append(slices.Clone(apt), "update")...)
	inFolder(t, folder, append(slices.Clone(apt), "source", "--download-only", "redis")...)
	archives, err := filepath.Glob(filepath.Join(folder, "redis_*.orig.tar.gz"))
	if err != nil || len(archives) != 1 {
		t.Fatalf("archives of the source package: %q, %v", archives, err)
	}
	inFolder(t, folder, "tar", "xzf", archives[0])
	folders, err := filepath.Glob(filepath.Join(folder, "redis-*/tests"))
	if err != nil || len(folders) != 1 {
		t.Fatalf("folders of the source package: %q, %v", folders, err)
	}
	return filepath.Dir(folders[0])
}

// runUnit runs a unit on the server at an address, and returns the error of each test, "" if it passed.
func runUnit(t *testing.T, folder, unit, address string, skipped []string) map[string]string {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	skips := filepath.Join(t.TempDir(), "skipped")
	if err := os.WriteFile(skips, []byte(strings.Join(skipped, "\n")), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), unitPatience)
	defer cancel()
	command := testprocess.Command(ctx, "tclsh", "tests/test_helper.tcl", "--host", host, "--port", port, "--durable", "--ignore-encoding", "--ignore-digest",
		"--tags", "-needs:debug -needs:repl -needs:reset -needs:config-maxmemory -needs:save -slow", "--skipfile", skips, "--timeout", newsPatience, "--single", unit)
	command.Dir = folder
	output, _ := command.CombinedOutput() // an error if a test failed
	return outcomesOfTcl(output)
}

var (
	colours  = regexp.MustCompile(`\x1b\[[0-9;]*m`)
	tclEvent = regexp.MustCompile(`^\[(\w+)\]: (.*)$`)
	tclTime  = regexp.MustCompile(` \(\d+ ms\)$`)
	tclFile  = regexp.MustCompile(` in tests/unit/\S+\.tcl$`)
)

// outcomesOfTcl reads the output of Redis's tests. A test that runs several times under one name must pass each time.
func outcomesOfTcl(output []byte) map[string]string {
	outcomes, failing := map[string]string{}, "" // the errors of all runs, one after the other
	for line := range strings.Lines(colours.ReplaceAllString(string(output), "")) {
		line = strings.TrimRight(line, "\n")
		event := tclEvent.FindStringSubmatch(line)
		if event == nil {
			if failing != "" {
				outcomes[failing] += "\n" + line
			}
			continue
		}
		failing = ""
		switch event[1] {
		case "ok":
			name := tclTime.ReplaceAllString(event[2], "")
			outcomes[name] += ""
		case "err":
			failing = tclFile.ReplaceAllString(event[2], "")
			outcomes[failing] += "fails:"
		}
	}
	return outcomes
}

// differences are the contents of [redisDiffers].
type differences struct {
	reasons map[string]string // of a unit and a test
	skipped []string          // tests that are not run at all: they would stop those behind them
	missing []string          // commands and settings that Stint does not have
}

// missingWord is what a server says of an unknown command or setting.
var missingWord = regexp.MustCompile(`(?i)(?:unknown command '|arguments for CONFIG SET - ')([^']*)'`)

// lacks reports whether an outcome consists of errors, each of which names a command or a setting that Stint does not have.
func (d *differences) lacks(outcome string) bool {
	runs := strings.Split(outcome, "fails:")[1:]
	return len(runs) > 0 && !slices.ContainsFunc(runs, func(run string) bool {
		word := missingWord.FindStringSubmatch(run)
		return word == nil || !slices.Contains(d.missing, strings.ToLower(word[1]))
	})
}

func readDifferences(t *testing.T) (d differences) {
	text, err := os.ReadFile(redisDiffers)
	if err != nil {
		t.Fatal(err)
	}
	d.reasons = map[string]string{}
	reason := ""
	for line := range strings.Lines(string(text)) {
		switch line = strings.TrimSpace(line); {
		case line == "" || strings.HasPrefix(line, "#"):
		case strings.HasSuffix(line, ":") && !strings.HasPrefix(line, "unit/"):
			reason = strings.TrimSuffix(line, ":")
		case reason == "":
			t.Fatalf("%s: %q stands below no reason", redisDiffers, line)
		case strings.HasPrefix(line, "skip "):
			d.skipped = append(d.skipped, strings.TrimPrefix(line, "skip "))
		case strings.HasPrefix(line, "without "):
			d.missing = append(d.missing, strings.Fields(line)[1:]...)
		default:
			d.reasons[line] = reason
		}
	}
	slices.Sort(d.skipped)
	return d
}

func TestOutcomesOfTcl(t *testing.T) {
	got := outcomesOfTcl([]byte("[ready]: 1\n[testing]: a\n[\x1b[0;32mok\x1b[0m]: a (3 ms)\n[err]: b in tests/unit/x.tcl\nExpected '1'\n[ok]: b (0 ms)\n[skip]: c\n"))
	if want := map[string]string{"a": "", "b": "fails:\nExpected '1'"}; !maps.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
