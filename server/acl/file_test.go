package acl

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Editors on Windows begin files with a byte order mark, which is not part of the first line.
func TestByteOrderMark(t *testing.T) {
	file := filepath.Join(t.TempDir(), "users.acl")
	for text, want := range map[string]int{"\ufeffuser ann on nopass ~* +@all\nuser bob off\n": 3, "\ufeff# nobody yet\n": 1, "\ufeff": 1} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if u, err := New(Settings{File: file}); err != nil || len(u.Names()) != want {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// The error for a file that does not exist names the remedy.
func TestNoFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "users.acl")
	if _, err := New(Settings{File: file}); err == nil || !strings.Contains(err.Error(), file+": no such file or directory; create an empty file") {
		t.Errorf("%v", err)
	}
}
