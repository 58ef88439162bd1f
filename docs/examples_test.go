package docs

import (
	"regexp"
	"strings"
	"testing"
)

// clusterPage is the page with examples of three nodes, which TestClusterExamples starts and runs.
const clusterPage = "docs/cluster.md"

// redisTools is how to install redis-cli.
const redisTools = "the tools of Redis or Valkey (Debian: redis-tools)"

// languages are the languages of the blocks that tests run, with the program that a block needs. TestTranscripts runs
// transcripts; TestExamples, with the tag e2e, runs the others.
var languages = map[string]struct{ program, install string }{
	"console":    {"redis-cli", redisTools},
	"redis":      {"redis-cli", redisTools},
	"python":     {"python3", "Python with redis-py (pip install redis)"},
	"go":         {"go", "Go"},
	"transcript": {},
	"http":       {}, // run by TestHTTPExamples
}

// isRun reports whether a test runs the block: of Go, only whole programs are run.
func (b block) isRun() bool {
	_, known := languages[b.language]
	return known && (b.language != "go" || strings.Contains(b.text(), "package main"))
}

// isProgram reports whether running the block needs a server process and other programs. TestExamples runs such blocks.
func (b block) isProgram() bool { return b.isRun() && languages[b.language].program != "" }

// kubernetesPage has command lines that tests of the module packaging run.
const kubernetesPage = "docs/kubernetes.md"

var looksRunnable = regexp.MustCompile(`^(\$ )?redis-cli\b|^> [A-Za-z.]+\b|^(\d+\.\d+\.\d+\.\d+:\d+)> `)

// TestExamplesAreRun finds transcripts in blocks of a language that is not run.
func TestExamplesAreRun(t *testing.T) {
	count := 0
	for _, p := range handbookPages(t) {
		for _, b := range p.blocks() {
			// The others are run by TestClusterExamples, TestAdding and the tests of packaging.
			if b.isRun() || p.path == clusterPage && b.language == "sh" || p.path == addingPage || p.path == kubernetesPage {
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
