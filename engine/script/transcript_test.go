package script

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stintdb/stint/internal/testgenerated"
)

// The transcripts in testdata are scripts, each with what it says, what it replies or raises, and the steps that it
// takes. They hold whatever carries out scripts to what scripts see, and name nothing of how it does so. Each script is
// a step of this form, and empty lines divide the steps:
//
//	run
//	say('hello')
//	return 1
//	----
//	said "hello"
//	1
//	93 steps
//
// After "run", "own" marks a script whose outcome is this server's own: a Redis replies otherwise. "endless" marks a
// script that a Redis would not end, or not survive. Lines that begin with # are comments. In a script, say(text) tells
// its caller a text. KEYS and ARGV are those of the recorded replies.
type transcriptStep struct {
	comments []string // the lines in front of it
	command  string   // its first line
	script   string
	want     string
}

// saying is the script with say as a call of a command with these arguments before the text. Lines keep their numbers.
func (s *transcriptStep) saying(call string) string {
	return strings.ReplaceAll(s.script, "say(", "redis.call("+call+",")
}

func transcripts(t *testing.T) []string {
	names, err := filepath.Glob("testdata/transcripts/*.txt")
	if err != nil || len(names) < 8 {
		t.Fatalf("%d transcripts, %v", len(names), err)
	}
	return names
}

func readTranscript(t *testing.T, name string) (steps []transcriptStep) {
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range strings.Split(strings.TrimSpace(string(text)), "\n\n") {
		var s transcriptStep
		lines := strings.Split(block, "\n")
		for ; len(lines) > 0 && strings.HasPrefix(lines[0], "#"); lines = lines[1:] {
			s.comments = append(s.comments, lines[0])
		}
		if len(lines) > 0 {
			source, want, _ := strings.Cut(strings.Join(lines[1:], "\n")+"\n", "----\n")
			s.command, s.script, s.want = lines[0], strings.TrimSuffix(source, "\n"), want
			if !slices.Contains([]string{"run", "run own", "run endless"}, s.command) {
				t.Fatalf("%s: no command: %q", name, s.command)
			}
		}
		steps = append(steps, s)
	}
	return steps
}

// TestTranscripts plays the transcripts.
func TestTranscripts(t *testing.T) {
	for _, name := range transcripts(t) {
		t.Run(filepath.Base(name), func(t *testing.T) {
			var file bytes.Buffer
			for i, s := range readTranscript(t, name) {
				if i > 0 {
					file.WriteString("\n")
				}
				for _, line := range s.comments {
					fmt.Fprintln(&file, line)
				}
				if s.command == "" {
					continue
				}
				got := play(&s)
				if got != s.want && !*update {
					t.Errorf("%s\n----\n%swant\n%s", s.script, got, s.want)
				}
				fmt.Fprintf(&file, "%s\n%s\n----\n%s", s.command, s.script, got)
			}
			remedy := "go test ./engine/script -run Transcripts -update, and read what changed"
			testgenerated.Check(t, name, file.Bytes(), *update, remedy)
		})
	}
}

// play runs a script and returns its outcome.
func play(s *transcriptStep) string {
	p, err := Compile([]byte(s.saying("'ECHO'")))
	if err != nil {
		return "error " + err.Error() + "\n"
	}
	var host listener
	reply := p.Run(nil, testKeys, testArgs, &host)
	return outcome(host.said, reply) + strconv.Itoa(p.Steps()) + " steps\n"
}

// shaPattern is the name of a script in a message.
var shaPattern = regexp.MustCompile(`[0-9a-f]{40}`)

// listener hears what a script says.
type listener struct{ said []string }

func (*listener) Find(string) any { return nil }

func (l *listener) Call(reply []byte, args [][]byte, _ any) ([]byte, int) {
	if string(args[0]) != "ECHO" || len(args) != 2 {
		return appendError(reply, "ERR Unknown Redis command called from script"), 0
	}
	l.said = append(l.said, string(args[1]))
	return appendBulk(reply, args[1]), 0
}

func (*listener) Expired() bool { return false }

func (*listener) Dialect() int64 { return 2 }

func (*listener) UseRESP3(on bool) bool { return !on }

// outcome writes what a script said and replied, one on each line.
func outcome(said []string, reply []byte) string {
	var b strings.Builder
	for _, text := range said {
		fmt.Fprintf(&b, "said %q\n", text)
	}
	text, _ := showReply(reply)
	fmt.Fprintln(&b, shaPattern.ReplaceAllString(text, "<sha>"))
	return b.String()
}

// showReply writes a reply in RESP2 for a reader, and returns what follows it.
func showReply(reply []byte) (text string, rest []byte) {
	line, rest, _ := bytes.Cut(reply, []byte("\r\n"))
	n, _ := strconv.Atoi(string(line[1:]))
	switch line[0] {
	case '-':
		return "error " + string(line[1:]), rest
	case '+':
		return "status " + string(line[1:]), rest
	case ':':
		return string(line[1:]), rest
	case '$':
		if n < 0 {
			return "nil", rest
		}
		return strconv.Quote(string(rest[:n])), rest[n+2:]
	}
	var items []string
	for range n {
		var item string
		item, rest = showReply(rest)
		items = append(items, item)
	}
	return "[" + strings.Join(items, " ") + "]", rest
}
