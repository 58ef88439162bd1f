// Package generated holds files that are made from tables in the code to what those tables say.
package generated

import (
	"bytes"
	"os"
	"testing"
)

// Check fails the test unless a file is what it would be made to, or makes it so. remedy is the command that does.
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
		t.Errorf("%s is not what the code says: run %s", path, remedy)
	}
}
