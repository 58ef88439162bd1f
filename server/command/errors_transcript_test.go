package command_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stintdb/stint/server/command"
)

// Every error in the transcripts, which servers have sent, is in the table.
func TestErrorsOfTranscriptsAreInTheTable(t *testing.T) {
	var rows []string
	for _, s := range errorSections {
		for _, e := range s.Rows {
			if e != command.ErrRaft { // it would match every text
				rows = append(rows, regexp.MustCompile(`%[+#]?[a-z]`).ReplaceAllString(regexp.QuoteMeta(e.Text), ".*"))
			}
		}
	}
	inTable := regexp.MustCompile("^-(" + strings.Join(rows, "|") + ")$")
	inScript := regexp.MustCompile(" script: [0-9a-f]{40}, on @user_script:[0-9]+.$")
	isError := regexp.MustCompile("^-[A-Z]+ ")
	files, err := filepath.Glob("../testdata/*/*.txt")
	if err != nil || len(files) < 20 {
		t.Fatal(files, err)
	}
	errors := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(string(text), "\n")
		for i, line := range lines {
			if !isError.MatchString(line) || strings.HasPrefix(lines[i-1], "> RAFT ") {
				continue
			}
			line = inScript.ReplaceAllString(line, "")
			if errors++; !inTable.MatchString(line) {
				t.Errorf("%s:%d: not in the table of errors: %s", file, i+1, line)
			}
		}
	}
	if errors < 100 {
		t.Errorf("found only %d errors", errors)
	}
}
