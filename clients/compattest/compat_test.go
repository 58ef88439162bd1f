//go:build e2e

package compattest

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stintdb/stint/internal/testserver"
)

// A suite is the program of one language, in the folder of that name.
type suite struct {
	folder  string
	tools   map[string]string // program that must be there, and what to install if it is not
	debian  bool              // its libraries are those of Debian, listed in packages.txt
	prepare []step            // commands that install the libraries and build the program
	run     []string          // the command that runs the checks
	reports []string          // client and protocol of each "…: N checks" line it must print
}

// A step is a command that is left out if the file named by unless exists.
type step struct {
	unless  string
	command []string
}

var suites = []suite{
	{
		folder:  "go",
		prepare: []step{{command: []string{"go", "build", "-o", "../build/go", "."}}},
		run:     []string{"../build/go"},
		reports: []string{"go-redis RESP2", "go-redis RESP3", "rueidis RESP2", "rueidis RESP3", "redigo RESP2", "go-redis database", "go-redis cluster RESP2", "go-redis cluster RESP3"},
	},
	{
		folder: "python",
		tools:  map[string]string{"python3": "Python 3.10 or later with its venv module"},
		prepare: []step{
			{unless: "../build/python/bin/python", command: []string{"python3", "-m", "venv", "../build/python"}},
			{command: []string{"../build/python/bin/python", "-m", "pip", "install", "--quiet", "--requirement", "requirements.txt"}},
		},
		run:     []string{"../build/python/bin/python", "compat.py"},
		reports: []string{"redis-py default", "redis-py RESP2", "redis-py RESP3", "redis-py database", "redis-py cluster RESP2", "redis-py cluster RESP3"},
	},
	{
		folder:  "node",
		tools:   map[string]string{"node": "Node.js 20 or later", "npm": "npm, which comes with Node.js"},
		prepare: []step{{command: []string{"npm", "ci", "--prefer-offline", "--no-audit", "--no-fund"}}},
		run:     []string{"node", "compat.mjs"},
		reports: []string{"ioredis RESP2", "ioredis RESP3", "node-redis RESP2", "node-redis RESP3", "ioredis database", "node-redis database", "ioredis cluster RESP2", "ioredis cluster RESP3"},
	},
	{
		folder:  "java",
		tools:   map[string]string{"mvn": "Maven 3.8 or later", "javac": "a JDK, version 17 or later"},
		prepare: []step{{command: []string{"mvn", "--quiet", "--batch-mode", "process-classes"}}},
		run:     []string{"java", "-classpath", "../build/java/classes:../build/java/libraries/*", "Compat"},
		reports: []string{
			"Jedis RESP2", "Jedis RESP3", "Lettuce RESP2", "Lettuce RESP3",
			"Jedis cluster RESP2", "Jedis cluster RESP3", "Lettuce cluster RESP2", "Lettuce cluster RESP3",
		},
	},
	{
		folder:  "rust",
		tools:   map[string]string{"cargo": "Rust 1.85 or later with cargo"},
		prepare: []step{{command: []string{"cargo", "build", "--quiet", "--locked", "--target-dir", "../build/rust"}}},
		run:     []string{"../build/rust/debug/stint-compat"},
		reports: []string{"redis-rs RESP2", "redis-rs RESP3"},
	},
}

func TestClients(t *testing.T) {
	neverCached(t)
	program := testserver.Build(t, filepath.Join("..", ".."))
	servers := servers{alone: testserver.Start(t, program), nodes: testserver.StartCluster(t, program, 3, "--redirect", "moved")}
	for _, s := range suites {
		t.Run(s.folder, func(t *testing.T) { s.test(t, servers) })
	}
	t.Run("redis-cli", func(t *testing.T) { testRedisCLI(t, servers) })
}

// servers are what clients are run against: a server that stands alone, and the nodes of a cluster that send clients to
// their leader.
type servers struct {
	alone string
	nodes []string
}

func (s suite) test(t *testing.T, servers servers) {
	s.install(t)
	output, err := s.command(t, servers, s.run).CombinedOutput()
	if err != nil {
		t.Errorf("%s: %v\n%s", strings.Join(s.run, " "), err, output)
	}
	for _, report := range s.reports {
		count := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(report) + `: ([1-9][0-9]*) checks$`).FindSubmatch(output)
		if count == nil {
			t.Errorf("no line %q with a number above zero in:\n%s", report+": N checks", output)
			continue
		}
		t.Logf("%s: %s checks", report, count[1])
	}
}

// install skips the test if a tool is missing. It runs the commands once for all tests that need the folder.
func (s suite) install(t *testing.T) {
	for program, install := range s.tools {
		require(t, program, install)
	}
	if s.debian {
		requirePackages(t, filepath.Join(s.folder, "packages.txt"))
	}
	if _, is := installed.Load(s.folder); is {
		return
	}
	for _, p := range s.prepare {
		if p.unless != "" && exists(filepath.Join(s.folder, p.unless)) {
			continue
		}
		command := testserver.Command(t, p.command[0], p.command[1:]...)
		command.Dir = s.folder
		if output, err := command.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", command, err, output)
		}
	}
	installed.Store(s.folder, true)
}

// installed has the folders whose commands have run.
var installed sync.Map

func (s suite) command(t *testing.T, servers servers, args []string) *exec.Cmd {
	c := testserver.Command(t, args[0], args[1:]...)
	c.Dir = s.folder
	c.Env = append(os.Environ(), "STINT_ADDR="+servers.alone, "STINT_CLUSTER="+strings.Join(servers.nodes, ","))
	return c
}

// require skips the test if a program is missing. In CI, where no test may be skipped, it fails the test instead.
func require(t *testing.T, program, install string) {
	t.Helper()
	if _, err := exec.LookPath(program); err == nil {
		return
	}
	if os.Getenv("CI") == "true" {
		t.Fatalf("%s is missing: install %s", program, install)
	}
	t.Skipf("%s is missing: install %s", program, install)
}

// requirePackages is require for the Debian packages that a file lists.
func requirePackages(t *testing.T, list string) {
	t.Helper()
	packages, err := os.ReadFile(list)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range strings.Fields(string(packages)) {
		status, err := testserver.Command(t, "dpkg-query", "--show", "--showformat", "${db:Status-Status}", name).Output()
		if err == nil && string(status) == "installed" {
			continue
		}
		if os.Getenv("CI") == "true" {
			t.Fatalf("Debian's package %s is not installed", name)
		}
		t.Skipf("Debian's package %s is not installed", name)
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// neverCached keeps go test from answering "(cached)": the server's sources and the programs are not among the files
// that it sees this test depend on. It caches no result of a test that has read a file only just written.
func neverCached(t *testing.T) {
	t.Cleanup(func() {
		stamp := filepath.Join("build", "last-run")
		if err := os.MkdirAll("build", 0o755); err != nil {
			t.Error(err)
		}
		if err := os.WriteFile(stamp, []byte(time.Now().String()), 0o644); err != nil {
			t.Error(err)
		}
		if _, err := os.ReadFile(stamp); err != nil {
			t.Error(err)
		}
	})
}

// TestReadme holds the table of clients in README.md to the suites above.
func TestReadme(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range suites {
		for _, report := range s.reports {
			client, _, _ := strings.Cut(report, " ")
			if !strings.Contains(string(readme), "["+client+"]") {
				t.Errorf("README.md does not list [%s]", client)
			}
		}
	}
}
