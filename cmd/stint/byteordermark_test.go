package main

import (
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"
)

// Editors of Windows begin files with a byte order mark, which is no part of a secret.
func TestByteOrderMarkOfSecrets(t *testing.T) {
	const mark = "\ufeff"
	p := &process{readFile: fstest.MapFS{"secret": {Data: []byte(mark + "tea\r\n")}, "no-secret": {Data: []byte(mark + "\r\n")}}.ReadFile}
	if secret, err := p.secretIn("token-file", "secret"); err != nil || secret != "tea" {
		t.Errorf("a secret: %q, %v", secret, err)
	}
	if secret, err := p.secretIn("token-file", "no-secret"); err == nil {
		t.Errorf("no secret: %q", secret)
	}
	file := filepath.Join(t.TempDir(), "password")
	for text, want := range map[string]string{mark + "tea\r\n": "tea", mark + "\n": ""} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if password, err := readPassword(file); password != want || (err != nil) != (want == "") {
			t.Errorf("%q: %q, %v", text, password, err)
		}
	}
}
