package command_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stintdb/stint/server/command"
)

// Commands that sources and pages of the handbook name exist.
func TestNamedCommandsExist(t *testing.T) {
	var files []string
	for _, root := range []string{"../../server", "../../docs", "../../cmd"} {
		err := filepath.WalkDir(root, func(name string, _ os.DirEntry, err error) error {
			if ext := filepath.Ext(name); ext == ".go" || ext == ".md" {
				files = append(files, name)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	named := regexp.MustCompile(`\b(AD|CC|CL|FS|FW|HT|LB|LQ|RL|SL|SW|TB)\.[A-Z]+\b`)
	unknown := map[string]bool{"TB.AQUIRE": true, "TB.NONSUCH": true, "RL.LEFT": true} //nolint:misspell // typing errors that the handbook shows
	found := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range named.FindAllString(string(text), -1) {
			found++
			if _, err := command.Find([][]byte{[]byte(strings.ToLower(name))}); err != nil && !unknown[name] && !strings.HasPrefix(err.Error(), "ERR wrong number") {
				t.Errorf("%s names %s: %v", file, name, err)
			}
		}
	}
	if found < 1000 {
		t.Errorf("only %d names were found", found)
	}
}
