package transcripttest

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestReadReply(t *testing.T) {
	for wire, want := range map[string]string{
		"+OK\r\n":                             "+OK",
		"-ERR a \"b\" \\ \x00\r\n":            `-ERR a "b" \ \x00`,
		":-12\r\n":                            "-12",
		"$-1\r\n":                             "nil",
		"*-1\r\n":                             "nil[]",
		"_\r\n":                               "null",
		"$0\r\n\r\n":                          `""`,
		"$4\r\na\r\nb\r\n":                    `"a\r\nb"`,
		"$2\r\n\xff\x00\r\n":                  `"\xff\x00"`,
		"=7\r\ntxt:a\nb\r\n":                  `txt"a\nb"`,
		"*0\r\n":                              "[]",
		"*3\r\n:1\r\n$1\r\na\r\n*1\r\n_\r\n":  `[1 "a" [null]]`,
		"%2\r\n$1\r\na\r\n:1\r\n+b\r\n*0\r\n": `{"a": 1, +b: []}`,
		"~1\r\n+x\r\n":                        "~[+x]",
		"*2\r\n$90\r\n" + strings.Repeat("x", 90) + "\r\n%1\r\n$90\r\n" + strings.Repeat("y", 90) + "\r\n:1\r\n"://
		"[\n  \"" + strings.Repeat("x", 90) + "\"\n  {\"" + strings.Repeat("y", 90) + "\": 1}\n]",
	} {
		if got, err := ReadReply(bufio.NewReader(strings.NewReader(wire))); got != want || err != nil {
			t.Errorf("%q: %s (%v), want %s", wire, got, err, want)
		}
	}
	for _, wire := range []string{"", "OK\r\n", "+OK\n", ":x\r\n", ":01\r\n", "$5\r\nab\r\n", "$1\r\nabc", "$-2\r\n", "*-2\r\n", "*1\r\n", "%1\r\n:1\r\n", "\r\n", "!\r\n"} {
		if got, err := ReadReply(bufio.NewReader(strings.NewReader(wire))); err == nil {
			t.Errorf("%q is taken for %s", wire, got)
		}
	}
}

// echo is a player that answers a command with its words, and logs its calls.
type echo struct{ log []string }

func (e *echo) Do(conn string, command [][]byte, want string) (string, error) {
	e.log = append(e.log, fmt.Sprintf("%s> %q want %s", conn, command, want))
	return fmt.Sprintf("%q", command), nil
}
func (e *echo) Next(conn string) (string, error) {
	e.log = append(e.log, conn+"<")
	return "later", nil
}
func (e *echo) HangUp(conn string) error { e.log = append(e.log, "hangup "+conn); return nil }
func (e *echo) Advance(d time.Duration)  { e.log = append(e.log, d.String()) }
func (e *echo) Close() error             { return nil }

// The player gets the steps as written, and with update the file gets the answers.
func TestPlay(t *testing.T) {
	const before = "# title\n\n> a \"b \\x00\"  c\nadvance 1m\nx1> d\n…d…\n\nx1< wrong\nhangup x1\n> e\n[\n  old\n]\n# end\n"
	const after = "# title\n\n> a \"b \\x00\"  c\n[\"a\" \"b \\x00\" \"c\"]\nadvance 1m\nx1> d\n…d…\n\nx1< later\nhangup x1\n> e\n[\"e\"]\n# end\n"
	file := filepath.Join(t.TempDir(), "a.txt")
	if err := os.WriteFile(file, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	e := &echo{}
	playFile(t, file, true, e)
	want := []string{`> ["a" "b \x00" "c"] want `, "1m0s", `x1> ["d"] want …d…`, "x1<", "hangup x1", "> [\"e\"] want [\n  old\n]"}
	if fmt.Sprint(e.log) != fmt.Sprint(want) {
		t.Errorf("the player saw\n%q\nwant\n%q", e.log, want)
	}
	if got, err := os.ReadFile(file); string(got) != after || err != nil {
		t.Errorf("the file became\n%s\nwant\n%s", got, after)
	}
	if steps, err := parse(before); err != nil || matches(steps[7].want, "later") {
		t.Errorf("a wrong reply would pass (%v)", err)
	}
}

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		want, got string
		is        bool
	}{
		{"a", "a", true}, {"a", "b", false}, {"", "a", false}, {"a.c", "abc", false}, {"a…c", "a1\n2c", true}, {"a…c", "ac", true}, {"a…c", "ab", false}, {"…b", "abc", false},
	} {
		if matches(c.want, c.got) != c.is {
			t.Errorf("%q against %q: %v", c.want, c.got, !c.is)
		}
	}
}

func TestBadTranscripts(t *testing.T) {
	for _, text := range []string{"nonsense", "> a \"open", "advance soon", "> a\n[1]\n[2]", "hangup"} {
		if steps, err := parse(text); err == nil {
			t.Errorf("%q is taken for %v", text, steps)
		}
	}
}
