package acl

import (
	"path/filepath"
	"strings"
	"testing"
)

// The error for a file that does not exist names the remedy.
func TestNoFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "users.acl")
	if _, err := New(Settings{File: file}); err == nil || !strings.Contains(err.Error(), file+": no such file or directory; an empty file will do") {
		t.Errorf("%v", err)
	}
}
