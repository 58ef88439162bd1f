package docs

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// runners is how the blocks of a language are run, and what that needs.
var runners = map[string]struct {
	run   func(e *examples, b block) (got, want string)
	needs func() bool
	tool  string
}{
	"console": {(*examples).console, func() bool { return installed("redis-cli") }, "redis-cli"},
	"redis":   {(*examples).redis, func() bool { return installed("redis-cli") }, "redis-cli"},
	"python":  {(*examples).python, hasRedisPy, "python3 with redis-py"},
	"go":      {(*examples).golang, func() bool { return installed("go") }, "go"},

	"transcript": {(*examples).transcript, func() bool { return true }, ""},
}

// examples runs the examples of one page.
type examples struct {
	*testing.T
	page  string
	port  string
	tools string // folder with a redis-cli that goes to the server under test, and a stint
	dir   string // folder in which commands run; empty for that of the tests
	after block  // the block after the one being run
}

// TestExamples runs what the handbook tells readers to run, and compares what they are told to see.
func TestExamples(t *testing.T) {
	binary := buildServer(t)
	for _, p := range handbookPages(t) {
		blocks := p.blocks()
		if !slices.ContainsFunc(blocks, block.isRun) || p.path == clusterPage {
			continue
		}
		t.Run(p.path, func(t *testing.T) {
			e := &examples{T: t, page: p.path}
			for i, b := range blocks {
				if !b.isRun() {
					continue
				}
				if e.port == "" && b.language != "transcript" {
					e.port = e.start(binary)
					e.tools = e.wrapTools(binary)
				}
				if e.after = (block{}); i+1 < len(blocks) {
					e.after = blocks[i+1]
				}
				t.Run(fmt.Sprintf("line %d", b.line), func(t *testing.T) {
					runner := runners[b.language]
					require(t, runner.needs(), runner.tool)
					here := *e
					here.T = t
					if b.language != "transcript" {
						here.flush()
					}
					start := time.Now()
					got, want := runner.run(&here, b)
					if difference := compare(got, want, time.Since(start)); difference != "" {
						t.Errorf("%s:%d: %s\ngot:\n%s\nwant:\n%s", p.path, b.line, difference, got, want)
					}
				})
			}
		})
	}
}

// isRun reports whether a block is an example to run: of Go, only whole programs are.
func (b block) isRun() bool {
	_, known := runners[b.language]
	return known && (b.language != "go" || strings.Contains(b.text(), "package main"))
}

var looksRunnable = regexp.MustCompile(`^(\$ )?redis-cli\b|^> [A-Za-z.]+\b|^(\d+\.\d+\.\d+\.\d+:\d+)> `)

// TestExamplesAreRun finds transcripts in blocks of a language that is not run.
func TestExamplesAreRun(t *testing.T) {
	count := 0
	for _, p := range handbookPages(t) {
		for _, b := range p.blocks() {
			if b.isRun() || p.path == clusterPage && b.language == "sh" { // run by TestClusterExamples
				count++
				continue
			}
			for i, line := range b.lines {
				if looksRunnable.MatchString(line) {
					t.Errorf("%s:%d: a transcript in a block marked %q is never run; mark it console or redis", p.path, b.line+i, b.language)
				}
			}
		}
	}
	if count == 0 {
		t.Error("no example is run")
	}
}

// start starts the server of a page: where the page runs stint itself, with a folder "data" to keep its state in.
func (e *examples) start(binary string) (port string) {
	if !slices.ContainsFunc(readPage(e.T, e.page).lines, func(line string) bool { return strings.HasPrefix(line, "$ stint ") }) {
		return startServer(e.T, binary)
	}
	e.dir = e.TempDir()
	return startServer(e.T, binary, "--dir", filepath.Join(e.dir, "data"))
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
		e.output(exec.Command("redis-cli", "-p", e.port, "FLUSHALL"), "")
	}
}

// output runs a command with e's redis-cli in front of any other, and returns what it prints.
func (e *examples) output(c *exec.Cmd, stdin string) string {
	e.Helper()
	c.Stdin = strings.NewReader(stdin)
	c.Env = append(os.Environ(), "PATH="+e.tools+string(os.PathListSeparator)+os.Getenv("PATH"))
	out, err := c.CombinedOutput()
	if _, exited := err.(*exec.ExitError); err != nil && !exited {
		e.Errorf("%s: %v", c, err)
	}
	return string(out) // what it printed says more than its exit code
}

func (e *examples) console(b block) (got, want string) {
	commands, wants := split(b.lines, "$ ")
	for i, command := range commands {
		shell := exec.Command("sh", "-c", strings.ReplaceAll(command, "127.0.0.1:6379", "127.0.0.1:"+e.port))
		shell.Dir = e.dir
		got += "$ " + command + "\n" + e.output(shell, "")
		want += "$ " + command + "\n" + wants[i]
	}
	return got, want
}

func (e *examples) redis(b block) (got, want string) {
	commands, wants := split(b.lines, "> ")
	redisCLI := exec.Command("redis-cli", "-p", e.port, "--no-raw")
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

func hasRedisPy() bool { return exec.Command("python3", "-c", "import redis").Run() == nil }

// python runs a program whose output the next block shows.
func (e *examples) python(b block) (got, want string) {
	return e.output(exec.Command("python3", "-"), e.redirect(b)), e.shown()
}

// golang runs a program in a module with the requirements of the client tests.
func (e *examples) golang(b block) (got, want string) {
	folder := e.TempDir()
	for _, name := range []string{"go.mod", "go.sum"} {
		content, err := os.ReadFile(filepath.Join(root, "clients", "compat", "go", name))
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
	build := exec.Command("go", "build", "-o", program, ".")
	build.Dir = folder
	if output, err := build.CombinedOutput(); err != nil {
		e.Fatalf("%s: %v\n%s", build, err, output)
	}
	return e.output(exec.Command(program), ""), e.shown()
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
