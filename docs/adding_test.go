//go:build e2e

package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stintdb/stint/internal/testserver"
)

// changed is a copy of the source with changes by hand.
type changed struct {
	folder string
	files  []string // changed by hand
}

func copySource(t *testing.T) *changed {
	require(t, installed("go"), "go", "Go")
	c := &changed{folder: t.TempDir()}
	for _, path := range findFiles(t, "*") {
		text, err := os.ReadFile(filepath.Join(root, path))
		if err == nil {
			err = os.MkdirAll(filepath.Dir(filepath.Join(c.folder, path)), 0o755)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(c.folder, path), text, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// write creates a file.
func (c *changed) write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(c.folder, path), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(c.files, path) {
		c.files = append(c.files, path)
	}
}

// insert adds text after the line with the given end, or at the end of the file without one.
func (c *changed) insert(t *testing.T, path, after, piece string) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(c.folder, path))
	if err != nil {
		t.Fatal(err)
	}
	text := string(content)
	if after == "" {
		c.write(t, path, text+"\n"+piece)
		return
	}
	if strings.Count(text, after+"\n") != 1 {
		t.Fatalf("%s has %d lines that end in %q", path, strings.Count(text, after+"\n"), after)
	}
	c.write(t, path, strings.Replace(text, after+"\n", after+"\n"+piece, 1))
}

// passes runs go generate as CONTRIBUTING.md says, and then the tests that could demand a change of another file.
func (c *changed) passes(t *testing.T) {
	t.Helper()
	c.run(t, "go generate ./server/command") // plays all transcripts, in one way
	for _, line := range []string{
		"go test . ./server/command/... ./server/config ./server/acl ./server/metrics ./docs",
		"go test ./engine/store -skip Adaptive|Class|FairShare|GivingBack|Histories|Meter|Overflow|Regions|Segments|Trees", // which only some algorithms have
		"go test ./server -run ClusterTranscripts|Access|Cost|Info|Transcripts/./^(" + strings.Join(c.transcripts(t), "|") + ")$",
		"go test ./cluster -run Format|Command|Codec",
	} {
		c.run(t, line)
	}
}

// run runs a command. The question is whether another file has to change, so tests do at the quick size, without vet,
// and with results of the cache. Compiled as its own tests are, and without the path of the copy, packages come from
// the build cache.
func (c *changed) run(t *testing.T, line string) {
	t.Helper()
	words := strings.Fields(line)
	command := testserver.Command(t, words[0], words[1:]...)
	flags := strings.ReplaceAll(os.Getenv("GOFLAGS"), "-count=1", "") + " -trimpath -vet=off -timeout=30m"
	command.Dir, command.Env = c.folder, append(os.Environ(), "TEST_SIZE=quick", "GOFLAGS="+flags)
	output, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", line, err, output)
	}
	t.Logf("%.0f s of CPU: %s", (command.ProcessState.UserTime() + command.ProcessState.SystemTime()).Seconds(), line)
}

// transcripts are the names of the transcripts that are new or changed.
func (c *changed) transcripts(t *testing.T) (names []string) {
	t.Helper()
	const folder = "server/testdata/transcripts"
	entries, err := os.ReadDir(filepath.Join(c.folder, folder))
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		before, _ := os.ReadFile(filepath.Join(root, folder, entry.Name()))
		if now, err := os.ReadFile(filepath.Join(c.folder, folder, entry.Name())); err != nil || string(now) != string(before) {
			names = append(names, strings.TrimSuffix(entry.Name(), ".txt"))
		}
	}
	if !slices.Contains(names, "rl-left") || len(names) > 10 {
		t.Fatalf("changed transcripts: %q", names)
	}
	return names
}

// changes fails the test unless as many files were changed by hand since it was asked last.
func (c *changed) changes(t *testing.T, want int) {
	t.Helper()
	if len(c.files) != want {
		t.Errorf("changed by hand: %q, want %d files", c.files, want)
	}
	c.files = nil
}

const newRow = `	Name: "rl.left", Syntax: "key", Since: "0.3.0", Group: "limiter",
	Summary: "Show how many tokens a key's limiter would grant.",
	Returns: "an integer, negative while the limiter is in debt; null if the key does not exist or has expired.",
	Example: "alice:1",
	Cost:    command.HolderLookup, Flags: command.ReadOnly | command.Fast, Keys: command.ReadKey, Parse: command.EachKey(engine.Look), Reply: replyLeft,
}, {
`

const newReply = `func replyLeft(w *resp.Writer, _ []engine.Op, results []engine.Result) {
	if results[0].Status == engine.NotFound {
		w.Null()
		return
	}
	w.Int(results[0].Remaining)
}
`

const newTranscript = `# RL.LEFT shows the tokens that are left.
> RL.LEFT k
> TB.ACQUIRE k 5 1/m 2
> RL.LEFT k
> RL.LEFT
`

// TestAdding adds a command and an algorithm to a copy of the source. Both stand in one copy because most of the time
// goes into building it.
func TestAdding(t *testing.T) {
	t.Parallel()
	c := copySource(t)
	c.addCommand(t)
	c.changes(t, 2)
	c.addAlgorithm(t)
	c.changes(t, 6)
	c.passes(t)
	c.has(t, "server/testdata/transcripts/rl-left.txt", "> RL.LEFT k\n3\n")
	c.has(t, "docs/commands.md", "RL.LEFT")
	c.has(t, "server/testdata/transcripts/cd-acquire.txt", "advance 4s\n> CD.ACQUIRE k 10s\n[0 1 0 6000 6000]\n")
}

// addCommand writes the file of the command's family, and a transcript.
func (c *changed) addCommand(t *testing.T) {
	t.Helper()
	c.insert(t, "server/command/limiter/inspect.go", "var inspectRows = []command.Row{{", newRow)
	c.insert(t, "server/command/limiter/inspect.go", "", newReply)
	c.write(t, "server/testdata/transcripts/rl-left.txt", newTranscript)
}

func (c *changed) has(t *testing.T, path, want string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(c.folder, path))
	if err != nil || !strings.Contains(string(text), want) {
		t.Errorf("%s (%v) has no %q:\n%.2000s", path, err, want, text)
	}
}

// addAlgorithm takes the steps of the page: whole files are written, and pieces inserted after the line that the page
// names, or at the end of the file.
func (c *changed) addAlgorithm(t *testing.T) {
	t.Helper()
	p := readPage(t, addingPage)
	var (
		fileLink  = regexp.MustCompile(`\]\(\.\./((?:engine/algorithm|engine/limits|engine/store|server/command/limiter)/\w+\.go)\)`)
		newFile   = regexp.MustCompile("The file `(.+)`:$")
		afterLine = regexp.MustCompile("after\\s+`([^`]+)`")
	)
	blocks, next, file, paragraph := p.blocks(), 0, "", ""
	for i, line := range p.prose() {
		if next < len(blocks) && i == blocks[next].line-2 {
			b := blocks[next]
			next++
			if found := newFile.FindStringSubmatch(strings.TrimSpace(paragraph)); found != nil {
				c.write(t, found[1], b.text())
			} else {
				after := append(afterLine.FindStringSubmatch(paragraph), "", "")
				c.insert(t, file, after[1], b.text())
			}
			paragraph = ""
			continue
		}
		if line != "" && i > 0 && p.lines[i-1] == "" {
			paragraph = ""
		}
		paragraph += line + "\n"
		if links := fileLink.FindAllStringSubmatch(line, -1); links != nil {
			file = links[len(links)-1][1]
		}
	}
	if next != 11 {
		t.Errorf("the page has %d pieces of source, want 11", next)
	}
}
