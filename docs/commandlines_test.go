//go:build e2e

package docs

import (
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stintdb/stint/internal/testserver"
)

// commandLines runs the commands of blocks marked sh, on addresses of this test and in temporary directories.
type commandLines struct {
	*testing.T
	program string
}

type lineRunner struct {
	begins string
	run    func(c *commandLines, line string)
}

// lineRunners is how a line is run, by how it begins. Without a function CI runs it, or something that takes less time.
var lineRunners = []lineRunner{
	{"stint server", (*commandLines).serve},
	{"stint sidecar", (*commandLines).beside},
	{"curl ", (*commandLines).fetch},
	{"go test ./server/resp ", (*commandLines).benchmark},
	{"go test ./server/conn ", (*commandLines).benchmark},
	{"go test ./engine/store -run '^$' ", (*commandLines).benchmark},
	{"go test ./...", nil}, // this is a part of it
	{"go test -tags e2e ./cmd/stint -run 'Flood|", nil},
	{"go run -C bench .", nil}, // with -quick
	{"git clone ", (*commandLines).clone},
	{"go build ./cmd/stint ", (*commandLines).install},
	{"docker ", nil}, // TestReadmeDocker of packaging/installed
}

func TestCommandLines(t *testing.T) {
	program, ran := buildServer(t), 0
	for _, p := range handbookPages(t) {
		if p.path == kubernetesPage {
			continue
		}
		for _, b := range p.blocks() {
			if b.language != "sh" || strings.Contains(b.text(), " &\n") { // TestClusterExamples runs those in the background
				continue
			}
			for _, line := range b.lines {
				runner := slices.IndexFunc(lineRunners, func(r lineRunner) bool { return strings.HasPrefix(line, r.begins) })
				if runner < 0 {
					t.Errorf("%s:%d: nothing here runs %s", p.path, b.line, line)
				} else if run := lineRunners[runner].run; run != nil {
					ran++
					t.Run(line, func(t *testing.T) { run(&commandLines{t, program}, line) })
				}
			}
		}
	}
	if ran < 5 {
		t.Errorf("only %d lines were run", ran)
	}
}

var otherMachine = regexp.MustCompile(`10\.0\.0\.\d:\d+`)

// serve starts a server with the command of a line and waits until it is ready. For … in the line it adds the required
// settings of a node.
func (c *commandLines) serve(line string) {
	line = strings.TrimPrefix(line, "stint server")
	line = regexp.MustCompile(`--listen \S+`).ReplaceAllString(line, "") // a free one is chosen
	if !strings.Contains(line, "--cluster-listen") {
		line = strings.Replace(line, "…", "--cluster-listen 10.0.0.1:7379 --cluster-peers 10.0.0.1:7379", 1)
	}
	free := map[string]string{}
	line = otherMachine.ReplaceAllStringFunc(strings.ReplaceAll(line, "…", ""), func(address string) string {
		if free[address] == "" {
			free[address] = testserver.ReserveAddress(c.T)
		}
		return free[address]
	})
	kept := c.TempDir()
	if strings.Contains(line, "--cluster-import") {
		c.Run("before", func(t *testing.T) { testserver.Start(t, c.program, "--dir", kept, "--admin", "") })
	}
	if file := filepath.Join(c.TempDir(), "copy.stint"); strings.Contains(line, "copy.stint") {
		line = strings.Replace(line, "copy.stint", file, 1)
		c.Run("backup", func(t *testing.T) {
			admin := testserver.StartServer(t, c.program, "--admin", "127.0.0.1:0").Admin(t)
			if out, err := testserver.Command(t, c.program, "backup", "--admin", admin, file).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
		})
	}
	testserver.Start(c.T, c.program, append(strings.Fields(strings.ReplaceAll(line, "/var/lib/stint", kept)), "--admin", "")...)
}

// beside runs a sidecar. Its home need not run.
func (c *commandLines) beside(line string) {
	line = regexp.MustCompile(`--listen \S+`).ReplaceAllString(line, "--listen 127.0.0.1:0")
	testserver.Run(c.T, c.program, strings.Fields(line)[1:]...).AwaitReady(c.T)
}

// clone clones this checkout, and looks for the program where the line leads.
func (c *commandLines) clone(line string) {
	checkout, err := filepath.Abs(root)
	if err != nil {
		c.Fatal(err)
	}
	c.shell(c.TempDir(), strings.Replace(line, "https://github.com/stintdb/stint", "--shared --quiet file://"+checkout+" stint", 1)+" && test -d cmd/stint")
}

// install builds the program in this checkout, and installs it in a folder of the test, from which it must run.
func (c *commandLines) install(line string) {
	checkout, err := filepath.Abs(root)
	if err != nil {
		c.Fatal(err)
	}
	line = strings.Replace(line, "go build ", "go -C "+checkout+" build -o \"$PWD\" ", 1)
	c.shell(c.TempDir(), strings.Replace(line, "sudo install stint /usr/local/bin", "mkdir bin && install stint bin && bin/stint version", 1))
}

// shell runs a line in a folder, which must succeed.
func (c *commandLines) shell(folder, line string) {
	c.Helper()
	cmd := testserver.Command(c.T, "sh", "-c", line)
	cmd.Dir = folder
	if out, err := cmd.CombinedOutput(); err != nil {
		c.Errorf("%s: %v\n%s", line, err, out)
	}
}

var curl = regexp.MustCompile(`^curl -H "([\w-]+): Bearer \$TOKEN" http://10\.0\.0\.7:6380(/\w+)$`)

// fetch asks as curl would.
func (c *commandLines) fetch(line string) {
	asked := curl.FindStringSubmatch(line)
	if asked == nil {
		c.Fatal("this test does not understand the line")
	}
	admin := testserver.StartServer(c.T, c.program, "--admin", "127.0.0.1:0", "--admin-token", "a-token-of-this-test").Admin(c.T)
	for token, want := range map[string]int{"a-token-of-this-test": http.StatusOK, "another": http.StatusUnauthorized} {
		request, err := http.NewRequest(http.MethodGet, "http://"+admin+asked[2], nil)
		if err != nil {
			c.Fatal(err)
		}
		request.Header.Set(asked[1], "Bearer "+token)
		reply, err := http.DefaultClient.Do(request)
		if err != nil {
			c.Fatal(err)
		}
		text, err := io.ReadAll(reply.Body)
		reply.Body.Close()
		if err != nil || reply.StatusCode != want || want == http.StatusOK && !strings.Contains(string(text), "stint_ready 1") {
			c.Errorf("with the token %q: %s, %v", token, reply.Status, err)
		}
	}
}

// benchmark runs a benchmark once.
func (c *commandLines) benchmark(line string) {
	line = regexp.MustCompile(`-benchtime \S+( -count \d+)?`).ReplaceAllString(line, "-benchtime 1x -count 1")
	shell := testserver.Command(c.T, "sh", "-c", line)
	shell.Dir = root
	if out, err := shell.CombinedOutput(); err != nil || !strings.Contains(string(out), "ns/op") {
		c.Errorf("%v\n%s", err, out)
	}
}
