//go:build e2e

package docs

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stintdb/stint/internal/testserver"
)

// runners run the blocks of a language.
var runners = map[string]func(e *examples, b block) (got, want string){
	"console": (*examples).console,
	"redis":   (*examples).redis,
	"python":  (*examples).python,
	"go":      (*examples).golang,
}

// examples runs the examples of one page.
type examples struct {
	*testing.T
	page  string
	port  string
	tools string // folder with a redis-cli that goes to the server under test, and a stint
	admin string // of that server, "" for none
	http  string // where it takes HTTP, "" for nowhere
	dir   string // folder in which commands run; empty for the tests' folder
	after block  // the block after the one being run
}

// TestExamples runs the programs and shell sessions of the handbook, and compares their output with the output on the
// page.
func TestExamples(t *testing.T) {
	binary := buildServer(t)
	for _, p := range handbookPages(t) {
		blocks := p.blocks()
		if !slices.ContainsFunc(blocks, block.isProgram) || p.path == clusterPage {
			continue
		}
		t.Run(p.path, func(t *testing.T) {
			e := &examples{T: t, page: p.path}
			for i, b := range blocks {
				if !b.isProgram() {
					continue
				}
				if e.port == "" {
					e.port = e.start(binary)
					e.tools = e.wrapTools(binary)
				}
				if e.after = (block{}); i+1 < len(blocks) {
					e.after = blocks[i+1]
				}
				t.Run(fmt.Sprintf("line %d", b.line), func(t *testing.T) {
					need := languages[b.language]
					require(t, installed(need.program) && (b.language != "python" || hasRedisPy(t)), need.program, need.install)
					here := *e
					here.T = t
					here.flush()
					start := time.Now()
					got, want := runners[b.language](&here, b)
					if difference := compare(got, want, time.Since(start)); difference != "" {
						t.Errorf("%s:%d: %s\ngot:\n%s\nwant:\n%s", p.path, b.line, difference, got, want)
					}
				})
			}
		})
	}
}

// start starts the server of a page: where the page runs stint itself, with a folder "data" to keep its state in; where
// it runs curl, with HTTP.
func (e *examples) start(binary string) (port string) {
	runs := func(program string) bool {
		return slices.ContainsFunc(readPage(e.T, e.page).lines, func(line string) bool { return strings.HasPrefix(line, "$ "+program+" ") })
	}
	switch {
	case runs("curl"):
		server := testserver.StartServer(e.T, binary, "--http-listen", "127.0.0.1:0")
		e.http = server.Listening(e.T, "HTTP")
		_, port, _ = net.SplitHostPort(server.Address)
		return port
	case !runs("stint"):
		return startServer(e.T, binary)
	}
	e.dir = e.TempDir()
	server := testserver.StartServer(e.T, binary, "--dir", filepath.Join(e.dir, "data"), "--admin", "127.0.0.1:0")
	e.admin = server.Admin(e.T)
	_, port, _ = net.SplitHostPort(server.Address)
	return port
}

// wrapTools makes a redis-cli that goes to the server under test instead of the usual port, and prints as in a
// terminal; and puts the program under test beside it.
func (e *examples) wrapTools(binary string) (folder string) {
	folder = e.TempDir()
	if err := os.Symlink(binary, filepath.Join(folder, "stint")); err != nil {
		e.Fatal(err)
	}
	real, err := exec.LookPath("redis-cli")
	if err != nil {
		return folder // every block then asks for it
	}
	script := fmt.Sprintf("#!/bin/sh\nexec '%s' -p %s --no-raw \"$@\"\n", real, e.port)
	if err := os.WriteFile(filepath.Join(folder, "redis-cli"), []byte(script), 0o755); err != nil {
		e.Fatal(err)
	}
	return folder
}

func (e *examples) flush() {
	if installed("redis-cli") {
		e.output(testserver.Command(e.T, "redis-cli", "-p", e.port, "FLUSHALL"), "")
	}
}

// output runs a command with e's redis-cli in front of any other, and returns its output.
func (e *examples) output(c *exec.Cmd, stdin string) string {
	e.Helper()
	c.Stdin = strings.NewReader(stdin)
	c.Env = append(os.Environ(), "PATH="+e.tools+string(os.PathListSeparator)+os.Getenv("PATH"), "STINT_ADMIN="+e.admin)
	out, err := c.CombinedOutput()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		e.Errorf("%s: %v", c, err)
	}
	return string(out) // the output explains more than the exit code
}

func (e *examples) console(b block) (got, want string) {
	commands, wants := split(b.lines, "$ ")
	for i, command := range commands {
		here := strings.NewReplacer("127.0.0.1:6379", "127.0.0.1:"+e.port, "127.0.0.1:8080", e.http)
		shell := testserver.Command(e.T, "sh", "-c", here.Replace(command))
		shell.Dir = e.dir
		got += "$ " + command + "\n" + e.output(shell, "")
		want += "$ " + command + "\n" + wants[i]
	}
	return got, want
}

func (e *examples) redis(b block) (got, want string) {
	commands, wants := split(b.lines, "> ")
	redisCLI := testserver.Command(e.T, "redis-cli", "-p", e.port, "--no-raw")
	return e.output(redisCLI, strings.Join(commands, "\n")+"\n"), strings.Join(wants, "")
}

// split separates commands, which follow a prompt, from the lines after each.
func split(lines []string, prompt string) (commands, outputs []string) {
	for _, line := range lines {
		switch command, found := strings.CutPrefix(line, prompt); {
		case found:
			commands, outputs = append(commands, command), append(outputs, "")
		case len(outputs) > 0:
			outputs[len(outputs)-1] += line + "\n"
		default:
			commands, outputs = []string{"false"}, []string{"the block does not start with " + prompt + "\n"}
		}
	}
	return commands, outputs
}

func hasRedisPy(t *testing.T) bool {
	return testserver.Command(t, "python3", "-c", "import redis").Run() == nil
}

// python runs a program whose output the next block shows.
func (e *examples) python(b block) (got, want string) {
	return e.output(testserver.Command(e.T, "python3", "-"), e.redirect(b)), e.shown()
}

// golang runs a program in a module with the requirements of the client tests.
func (e *examples) golang(b block) (got, want string) {
	folder := e.TempDir()
	for _, name := range []string{"go.mod", "go.sum"} {
		content, err := os.ReadFile(filepath.Join(root, "clients", "compattest", "go", name))
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, name), content, 0o644)
		}
		if err != nil {
			e.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(folder, "main.go"), []byte(e.redirect(b)), 0o644); err != nil {
		e.Fatal(err)
	}
	program := filepath.Join(folder, "program")
	build := testserver.Command(e.T, "go", "build", "-o", program, ".")
	build.Dir = folder
	if output, err := build.CombinedOutput(); err != nil {
		e.Fatalf("%s: %v\n%s", build, err, output)
	}
	return e.output(testserver.Command(e.T, program), ""), e.shown()
}

// redirect sends a program to the server under test.
func (e *examples) redirect(b block) string {
	if !strings.Contains(b.text(), "6379") {
		e.Error("the program does not name port 6379")
	}
	return strings.ReplaceAll(b.text(), "6379", e.port)
}

func (e *examples) shown() string {
	if e.after.language != "text" {
		e.Error("no text block with its output follows the program")
	}
	return e.after.text()
}
