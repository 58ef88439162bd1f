// Package docs is the handbook. Its tests hold the pages to the truth: transcripts and programs in them are run against
// a server built from this checkout, links must lead somewhere, and named things must exist.
//
// The languages of fenced blocks:
//
//	console  lines after "$ " are commands for a shell, mostly redis-cli; the rest is their output in a terminal.
//	         On a page that runs stint itself the server keeps its state in a folder "data" beside; on one that runs curl it has --http-listen
//	redis    lines after "> " are commands typed into one redis-cli; the rest are its replies
//	transcript
//	         a conversation in the notation of server/transcripttest, on a separate server whose clock stands still except for
//	         "advance"; it begins on Friday, 2 January 2026, 03:04:05 UTC. go test ./docs -update writes the replies into the page
//	python   a program; the text block after it is its output
//	go       the same, if it is a whole program
//	toml     a configuration file
//	sh       lines for a shell, run on free addresses: commandlines_test.go says how
//	yaml     lines of docker/prometheus/prometheus.yml; in envoy.md, rules and a configuration that TestEnvoy runs; in gateways.md, configurations that
//	         TestGateways and TestTraefikRateLimit run
//	http     requests after "> " and their responses after "< ", see TestHTTPExamples
//	nginx, haproxy, lua, caddy
//	         configurations that TestGateways runs
//	python program, ts program, js program
//	         programs that the tests of clients/python and clients/node run
//	php, ruby and java with the name of a client
//	         lines that the tests of clients/compattest run
//	js bullmq
//	         a worker that TestWorkerRecipe of clients/compattest runs
//	js       in gateways.md, programs that TestCloudCode runs
//	csharp, elixir
//	         read, not run
//	text     shown, not run
//
// Every block starts with an empty server on the address the reader would use. In the expected output … stands for
// anything, and a number of 1000 or more may be smaller by as many milliseconds as have passed since the block began.
package docs

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

const root = ".."

// page is one Markdown file.
type page struct {
	path  string // below the root
	lines []string
}

// block is one fenced block of a page.
type block struct {
	language string
	line     int // of its first line of content, from 1
	lines    []string
}

// ignored are the patterns of .gitignore: files of other people, or of a run.
var ignored = sync.OnceValue(func() []string {
	text, err := os.ReadFile(filepath.Join(root, ".gitignore"))
	if err != nil {
		panic(err)
	}
	return append(strings.Fields(string(text)), ".git")
})

// isIgnored reports whether git ignores a path below the root.
func isIgnored(name string) bool {
	return slices.ContainsFunc(ignored(), func(pattern string) bool {
		where, what := name, strings.TrimSuffix(pattern, "/")
		if !strings.Contains(what, "/") {
			where = path.Base(name)
		}
		matches, _ := path.Match(strings.TrimPrefix(what, "/"), where)
		return matches
	})
}

// findFiles lists the files below the root whose names match, as paths below the root.
func findFiles(t *testing.T, pattern string) (paths []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, file)
		name = filepath.ToSlash(name)
		switch {
		case err != nil:
			return err
		case isIgnored(name) && entry.IsDir():
			return filepath.SkipDir
		case entry.IsDir() || isIgnored(name):
			return nil
		}
		matches, err := path.Match(pattern, entry.Name())
		if matches {
			paths = append(paths, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(paths) == 0 {
		t.Fatalf("no %s found below %s", pattern, root)
	}
	return paths
}

func readPage(t *testing.T, path string) page {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return page{path, strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")}
}

// allPages are all Markdown files; handbookPages are those for users, README.md included.
func allPages(t *testing.T) (pages []page) {
	for _, path := range findFiles(t, "*.md") {
		pages = append(pages, readPage(t, path))
	}
	return pages
}

func handbookPages(t *testing.T) (pages []page) {
	for _, p := range allPages(t) {
		if p.path == "README.md" || strings.HasPrefix(p.path, "docs/") {
			pages = append(pages, p)
		}
	}
	return pages
}

const fence = "```"

// blocks returns the fenced blocks of a page.
func (p page) blocks() (all []block) {
	var open *block
	for i, line := range p.lines {
		switch {
		case open == nil && strings.HasPrefix(line, fence):
			open = &block{language: strings.TrimPrefix(line, fence), line: i + 2}
		case open != nil && line == fence:
			all = append(all, *open)
			open = nil
		case open != nil:
			open.lines = append(open.lines, line)
		}
	}
	return all
}

// withBlocks returns the text of the page with other texts in some of its blocks, by the line of the block.
func (p page) withBlocks(texts map[int]string) string {
	var out []string
	next := 0 // the first line that is not in out
	for _, b := range p.blocks() {
		if text, is := texts[b.line]; is {
			out = append(append(out, p.lines[next:b.line-1]...), strings.TrimSuffix(text, "\n"))
			next = b.line - 1 + len(b.lines)
		}
	}
	return strings.Join(append(out, p.lines[next:]...), "\n") + "\n"
}

// Blocks may have the same text, and new texts may have more lines: each goes where it belongs.
func TestWithBlocks(t *testing.T) {
	const before = "# a\n```x\n> GET\n1\n```\nb\n```x\n> GET\n1\n```\n```x\n1\n```\n"
	p := page{lines: strings.Split(strings.TrimSuffix(before, "\n"), "\n")}
	for name, tc := range map[string]struct {
		texts map[int]string
		want  string
	}{
		"none":           {nil, before},
		"the second":     {map[int]string{8: "> GET\n2\n"}, "# a\n```x\n> GET\n1\n```\nb\n```x\n> GET\n2\n```\n```x\n1\n```\n"},
		"first and last": {map[int]string{3: "[\n  1\n]\n", 12: "2\n"}, "# a\n```x\n[\n  1\n]\n```\nb\n```x\n> GET\n1\n```\n```x\n2\n```\n"},
	} {
		if got := p.withBlocks(tc.texts); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// prose returns the page's lines, with empty ones in place of fenced blocks.
func (p page) prose() []string {
	lines := append([]string{}, p.lines...)
	for _, b := range p.blocks() {
		for i := range b.lines {
			lines[b.line-1+i] = ""
		}
	}
	return lines
}

func (b block) text() string { return strings.Join(b.lines, "\n") + "\n" }
