package transcripttest

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// step is one event, and its lines.
type step struct {
	line    int    // in the file, from 1
	source  string // the line itself
	conn    string
	send    [][]byte      // a command to send, or
	later   bool          // a reply that comes now, or
	hangUp  bool          // the client hangs up, or
	advance time.Duration // time passes, or a comment
	want    string        // the reply in the file
}

var (
	sendLine   = regexp.MustCompile(`^(\w*)> (.+)$`)
	laterLine  = regexp.MustCompile(`^(\w*)<(?: (.*))?$`)
	hangUpLine = regexp.MustCompile(`^hangup (\w+)$`)
)

// parse parses a transcript.
func parse(text string) (steps []step, err error) {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i := 0; i < len(lines); i++ {
		s := step{line: i + 1, source: lines[i]}
		var reply []string
		switch line := lines[i]; {
		case line == "" || strings.HasPrefix(line, "#"):
		case sendLine.MatchString(line):
			parts := sendLine.FindStringSubmatch(line)
			s.conn = parts[1]
			if s.send, err = splitCommand(parts[2]); err != nil {
				return nil, fmt.Errorf("line %d: %w", s.line, err)
			}
			if i+1 < len(lines) && !startsStep(lines[i+1]) {
				i++
				reply = append(reply, lines[i])
			}
		case laterLine.MatchString(line):
			parts := laterLine.FindStringSubmatch(line)
			s.conn, s.later, reply = parts[1], true, parts[2:]
			s.source = s.conn + "<"
		case hangUpLine.MatchString(line):
			s.conn, s.hangUp = hangUpLine.FindStringSubmatch(line)[1], true
		case strings.HasPrefix(line, "advance "):
			if s.advance, err = time.ParseDuration(line[len("advance "):]); err != nil {
				return nil, fmt.Errorf("line %d: %w", s.line, err)
			}
		default:
			return nil, fmt.Errorf("line %d: neither a command nor a reply to one: %s", s.line, line)
		}
		for len(reply) > 0 && i+1 < len(lines) && continuesReply(lines[i+1]) {
			i++
			reply = append(reply, lines[i])
		}
		s.want = strings.Join(reply, "\n")
		steps = append(steps, s)
	}
	return steps, nil
}

func startsStep(line string) bool {
	return line == "" || line[0] == '#' || sendLine.MatchString(line) || laterLine.MatchString(line) ||
		strings.HasPrefix(line, "advance ") || strings.HasPrefix(line, "hangup ")
}

// continuesReply recognises the lines of a reply after the first: they are indented, or close it.
func continuesReply(line string) bool {
	return strings.HasPrefix(line, "  ") || line == "]" || line == "}" || line == "…"
}

// splitCommand splits at spaces. A word that starts with a quote is a Go string.
func splitCommand(text string) (words [][]byte, err error) {
	for text = strings.TrimLeft(text, " "); text != ""; text = strings.TrimLeft(text, " ") {
		if text[0] != '"' {
			word, rest, _ := strings.Cut(text, " ")
			words, text = append(words, []byte(word)), rest
			continue
		}
		quoted, err := strconv.QuotedPrefix(text)
		if err != nil {
			return nil, fmt.Errorf("a string that does not end in %s", text)
		}
		word, err := strconv.Unquote(quoted)
		if err != nil {
			return nil, err
		}
		words, text = append(words, []byte(word)), text[len(quoted):]
	}
	return words, nil
}
