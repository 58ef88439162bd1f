package transcripttest

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// The words for a missing reply, of players and in transcripts.
const (
	Held   = "(held)"
	None   = "(none)"
	Closed = "(closed)"
)

// Player is a server with its clients, new for each transcript.
type Player interface {
	// Do sends a command on the named connection, which it opens if necessary, and returns the reply as [ReadReply]
	// does, or Held, None or Closed. A player that cannot know whether a reply will come may rely on want, the reply in
	// the transcript.
	Do(conn string, command [][]byte, want string) (got string, err error)
	// Next returns a reply that comes without a new command.
	Next(conn string) (got string, err error)
	// HangUp closes a connection from the client's side. It returns once the server knows.
	HangUp(conn string) error
	// Advance advances the server's clock.
	Advance(d time.Duration)
	// Close ends the server. It reports replies that nobody asked for.
	Close() error
}

// Play plays every transcript in a directory, each on a new player. With update, it replaces the replies in the files
// by the player's.
func Play(t *testing.T, dir string, update bool, open func(t *testing.T) Player) {
	files, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts in %s (%v)", dir, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			playFile(t, file, update, open(t))
		})
	}
}

func playFile(t *testing.T, file string, update bool, p Player) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	steps, err := parse(string(text))
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	for i := range steps {
		s := &steps[i]
		got, err := s.play(p)
		if err != nil {
			t.Fatalf("%s:%d: %s\n%v", file, s.line, s.source, err)
		}
		if !matches(s.want, got) {
			if !update {
				t.Errorf("%s:%d: %s\n got %s\nwant %s", file, s.line, s.source, got, s.want)
			}
			s.want = got
		}
	}
	if err := p.Close(); err != nil {
		t.Errorf("%s: at the end: %v", file, err)
	}
	if update {
		if err := os.WriteFile(file, []byte(format(steps)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// Replay plays a transcript and returns it with the player's replies. Replies that match stay as they are.
func Replay(text string, p Player) (got string, err error) {
	steps, err := parse(text)
	if err != nil {
		return "", err
	}
	for i := range steps {
		s := &steps[i]
		reply, err := s.play(p)
		if err != nil {
			return "", fmt.Errorf("line %d: %s: %w", s.line, s.source, err)
		}
		if !matches(s.want, reply) {
			s.want = reply
		}
	}
	return format(steps), nil
}

// Commands returns the commands of every transcript in a directory, of all connections, as input for fuzzing.
func Commands(dir string) (scripts [][][][]byte, err error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		steps, err := parse(string(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		var script [][][]byte
		for _, s := range steps {
			if s.send != nil {
				script = append(script, s.send)
			}
		}
		scripts = append(scripts, script)
	}
	return scripts, err
}

func (s *step) play(p Player) (got string, err error) {
	switch {
	case s.send != nil:
		return p.Do(s.conn, s.send, s.want)
	case s.later:
		return p.Next(s.conn)
	case s.hangUp:
		return "", p.HangUp(s.conn)
	case s.advance > 0:
		p.Advance(s.advance)
	}
	return "", nil
}

// matches compares a reply with the reply in the transcript, where … stands for any text.
func matches(want, got string) bool {
	if !strings.Contains(want, "…") {
		return want == got
	}
	pattern := strings.ReplaceAll(regexp.QuoteMeta(want), "…", ".*")
	return regexp.MustCompile(`^(?s:` + pattern + `)$`).MatchString(got)
}

// format writes a transcript in the form that parse reads.
func format(steps []step) string {
	var out strings.Builder
	for _, s := range steps {
		out.WriteString(s.source)
		switch {
		case s.want == "":
		case s.later:
			out.WriteString(" " + s.want)
		default:
			fmt.Fprintf(&out, "\n%s", s.want)
		}
		out.WriteString("\n")
	}
	return out.String()
}
