package stinttest_test

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stintdb/stint/clients/go/stinttest"
)

// TestDecisions plays random requests at times of a clock, with the server's replies, on a fake: its replies are the
// same, to the millisecond.
func TestDecisions(t *testing.T) {
	text, err := os.ReadFile("../../vectors/decisions.txt")
	if err != nil {
		t.Fatal(err)
	}
	fake := stinttest.NewFake()
	fake.Advance(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).Sub(fake.Now()))
	got, request, played, wrong := "", "", 0, 0
	for i, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		command, isCommand := strings.CutPrefix(line, "> ")
		pause, isPause := strings.CutPrefix(line, "advance ")
		switch {
		case isCommand:
			request = command
			got = shown(fake.Execute(strings.Fields(command)))
			played++
		case isPause:
			d, err := time.ParseDuration(pause)
			if err != nil {
				t.Fatal(err)
			}
			fake.Advance(d)
		case !strings.HasPrefix(line, "#") && got != line:
			t.Errorf("line %d: got %s, want %s; the request before is %s", i+1, got, line, request)
			if wrong++; wrong == 10 {
				t.FailNow()
			}
		}
	}
	if played != 1800 {
		t.Errorf("%d requests", played)
	}
}

// shown is a reply as transcripts have it.
func shown(reply string) string {
	lines := strings.Split(reply, "\r\n")
	var next func() string
	next = func() string {
		line := lines[0]
		lines = lines[1:]
		switch {
		case line == "$-1":
			return "nil"
		case line[0] == ':':
			return line[1:]
		case line[0] == '$':
			return strconv.Quote(next())
		case line[0] != '*':
			return line
		}
		var items []string
		length, _ := strconv.Atoi(line[1:])
		for range length {
			items = append(items, next())
		}
		return "[" + strings.Join(items, " ") + "]"
	}
	return next()
}
