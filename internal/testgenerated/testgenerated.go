// Package testgenerated checks files that are generated from tables in the code.
package testgenerated

import (
	"bytes"
	"os"
	"testing"
)

// Check fails the test unless a file has the generated content; with update it writes the file. remedy is the command
// that updates it.
func Check(t testing.TB, path string, want []byte, update bool, remedy string) {
	t.Helper()
	if update {
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s does not match the code: run %s", path, remedy)
	}
}
